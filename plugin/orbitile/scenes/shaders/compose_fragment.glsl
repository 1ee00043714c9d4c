#version 430 core
// The fragments of each list, nearest first, put under each other.

// The buffers of collect_fragment.glsl as textures, which software renderers read ten times as fast.
uniform usamplerBuffer lists;          // number of fragments, then the head of the list of each sample
uniform usamplerBuffer nodes;          // next, depth, colour with premultiplied alpha
uniform int width;
out vec4 fragment;

const uint NONE = 0xffffffffu;

// Bits of positive floats compare as the floats do. Between equal depths the colour decides, and not who came first;
// between equal colours who comes first does not matter.
bool nearer(uvec4 a, uvec4 b) {
    return a.y < b.y || (a.y == b.y && (a.z < b.z || (a.z == b.z && (a.w < b.w || (a.w == b.w && a.x < b.x)))));
}

void main() {
    ivec2 at = ivec2(gl_FragCoord.xy);
    uint head = texelFetch(lists, at.y * width + at.x + 1).r;
    vec4 sum = vec4(0.0);
    uvec4 taken = uvec4(0u);
    bool more = head != 0u;
    while (more) {
        uvec4 nearest = uvec4(NONE);           // of those that are behind what was taken
        for (uint node = head; node != 0u;) {
            uvec4 one = texelFetch(nodes, int(node));
            uint next = one.x;
            one.x = node;
            if (nearer(taken, one) && nearer(one, nearest)) nearest = one;
            node = next;
        }
        more = nearest.x != NONE;
        if (more) sum += (1.0 - sum.a) * vec4(unpackUnorm2x16(nearest.z), unpackUnorm2x16(nearest.w));
        taken = nearest;
    }
    fragment = sum;
}
