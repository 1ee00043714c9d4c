#version 330 core
// Volumes as fog, which is marched through along the line of sight from front to back, and as a plane across it.

struct Drawn {
    mat4 place;                        // from what the camera sees, in bohr, to indices of the lattice
    vec4 shape;                        // points along each axis
    vec4 plus;                         // display colour of positive values; opacity of a plane, density of fog
    vec4 minus;                        // display colour of negative values
    bool plane;
    bool squared;                      // fog goes with the square of the values, or with their magnitude
    bool inked;                        // by the map of a second field in place of the signs
    vec4 map[9];                       // display colours at equal steps of its range
};
const int COUNT = 4;                   // of volumes; another number is put here for each, since loops are unrolled then
uniform Drawn volumes[COUNT];
uniform sampler3D values0, values1, values2, values3;
                                       // red: a second field in shares of its range; alpha: values in isovalues
uniform float stride;                  // of the march, in bohr
uniform float middle;                  // depth of the planes
uniform vec4 tile;                     // width and height in samples
uniform mat4 projection;
uniform bool parallel;
uniform bool first;
uniform sampler2D front;               // depth of what was drawn before and lies in front of this, unless it is the first
uniform sampler2D back;                // depth of what hides the rest
out vec4 fragment;

const float DENSEST = 8.0;             // times the density at the isovalue at most: cores do not hide what is around them
const float FULL = 3.0;                // isovalues at which a plane has its full colour
const int MOST_STEPS = 512;

vec3 start, direction;                 // the line of sight: start + depth * direction
vec3 first_index[COUNT], index_step[COUNT];                // the same as indices of the lattices

float distance_of(float depth) {
    float z = 2.0 * depth - 1.0;
    return parallel ? (projection[3][2] - z) / projection[2][2] : projection[3][2] / (z + projection[2][2]);
}

vec3 index_at(int n, float depth) { return first_index[n] + depth * index_step[n]; }

bool is_inside(int n, vec3 index) {
    return all(greaterThanEqual(index, vec3(0.0))) && all(lessThanEqual(index, volumes[n].shape.xyz - 1.0));
}

vec4 texel_at(int n, vec3 index) {
    vec3 at = ((index + 0.5) / volumes[n].shape.xyz).zyx;      // z runs fastest
    if (COUNT == 1 || n == 0) return textureLod(values0, at, 0.0);
    if (COUNT == 2 || n == 1) return textureLod(values1, at, 0.0);
    if (COUNT == 3 || n == 2) return textureLod(values2, at, 0.0);
    return textureLod(values3, at, 0.0);
}

// Depths between which the line of sight is in the boxes of the fog.
vec2 span() {
    vec2 all_of = vec2(1e30, -1e30);
    for (int n = 0; n < COUNT; n++) {
        if (volumes[n].plane) continue;
        vec3 at = first_index[n], along = index_step[n];
        along = mix(along, vec3(1e-9), lessThan(abs(along), vec3(1e-9)));
        vec3 one = -at / along, other = (volumes[n].shape.xyz - 1.0 - at) / along;
        vec3 nearer = min(one, other), farther = max(one, other);
        vec2 found = vec2(max(max(nearer.x, nearer.y), nearer.z), min(min(farther.x, farther.y), farther.z));
        if (found.x < found.y) all_of = vec2(min(all_of.x, found.x), max(all_of.y, found.y));
    }
    return all_of;
}

vec3 ink_of(int n, vec4 texel) {
    if (volumes[n].inked) {
        float place = clamp(texel.r, 0.0, 1.0) * 8.0;
        int at = min(int(place), 7);
        return mix(volumes[n].map[at].rgb, volumes[n].map[at + 1].rgb, place - float(at));
    }
    return texel.a > 0.0 ? volumes[n].plus.rgb : volumes[n].minus.rgb;
}

vec4 under(vec4 sum, vec3 ink, float opacity) { return sum + (1.0 - sum.a) * opacity * vec4(ink, 1.0); }

// What is seen of fog between two depths, under what is before it
vec4 march(vec4 sum, float low, float high, float noise) {
    float scale = length(direction);
    int steps = clamp(int(ceil((high - low) * scale / stride)), 0, MOST_STEPS);
    float step_length = (high - low) / float(max(steps, 1));
    for (int step = 0; step < steps && sum.a < 0.998; step++) {
        float depth = low + (float(step) + noise) * step_length;
        float density = 0.0;
        vec3 ink = vec3(0.0);
        for (int n = 0; n < COUNT; n++) {
            vec3 index = index_at(n, depth);
            if (volumes[n].plane || !is_inside(n, index)) continue;
            vec4 texel = texel_at(n, index);
            float part = volumes[n].plus.a * min(volumes[n].squared ? texel.a * texel.a : abs(texel.a), DENSEST);
            density += part;
            ink += part * ink_of(n, texel);
        }
        if (density > 0.0) sum = under(sum, ink / density, 1.0 - exp(-density * scale * step_length));
    }
    return sum;
}

void main() {
    ivec2 at = ivec2(gl_FragCoord.xy);
    vec2 place = 2.0 * gl_FragCoord.xy / tile.xy - 1.0;
    vec2 size = vec2(projection[0][0], projection[1][1]);
    start = parallel ? vec3((place - vec2(projection[3][0], projection[3][1])) / size, 0.0) : vec3(0.0);
    direction = vec3(parallel ? vec2(0.0) : (place + vec2(projection[2][0], projection[2][1])) / size, -1.0);
    for (int n = 0; n < COUNT; n++) {
        first_index[n] = (volumes[n].place * vec4(start, 1.0)).xyz;
        index_step[n] = mat3(volumes[n].place) * direction;
    }
    float low = distance_of(first ? 0.0 : texelFetch(front, at, 0).r);
    float high = distance_of(texelFetch(back, at, 0).r);

    // The planes first, where neighbouring fragments still do the same: the line at the isovalue needs differences.
    vec4 planes[COUNT];
    for (int n = 0; n < COUNT; n++) {
        vec3 index = index_at(n, middle);
        vec4 texel = texel_at(n, index);
        float value = texel.a, opacity = min(abs(value) / FULL, 1.0);
        opacity = max(opacity, 1.0 - smoothstep(0.0, 1.5, abs(abs(value) - 1.0) / max(fwidth(value), 1e-6)));
        bool seen = volumes[n].plane && is_inside(n, index) && low < middle && middle <= high;
        planes[n] = vec4(ink_of(n, texel), seen ? volumes[n].plus.a * opacity : 0.0);
    }

    // Neighbouring samples begin at different places of a step: four of them together see fog four times as finely.
    int corner = (at.x & 1) + 2 * (at.y & 1);
    float noise = fract(52.9829189 * fract(dot(vec2(at / 2), vec2(0.06711056, 0.00583715))));
    noise = (float(corner) + noise) / 4.0;
    vec2 inside = span();
    inside = vec2(max(inside.x, low), min(inside.y, high));
    vec4 sum = march(vec4(0.0), inside.x, min(inside.y, middle), noise);
    for (int n = 0; n < COUNT; n++) sum = under(sum, planes[n].rgb, planes[n].a);
    fragment = march(sum, max(inside.x, middle), inside.y, noise);
}
