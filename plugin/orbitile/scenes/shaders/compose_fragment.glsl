#version 430 core
// The fragments of each list, nearest first, put under each other.
#include "fragment_lists.glsl"

out vec4 fragment;

// Bits of positive floats compare as the floats do. Between equal depths the colour decides, and not who came first.
bool nearer(uvec4 a, uvec4 b) {
    if (a.y != b.y) return a.y < b.y;
    return a.z != b.z ? a.z < b.z : a.w < b.w;
}

void main() {
    ivec2 at = ivec2(gl_FragCoord.xy);
    uint head = heads[at.y * width + at.x];
    vec4 sum = vec4(0.0);
    while (head != 0u) {
        uvec4 first = nodes[head], nearest = first;
        uint found = head;
        for (uint node = first.x; node != 0u;) {
            uvec4 other = nodes[node];
            if (nearer(other, nearest)) {
                nearest = other;
                found = node;
            }
            node = other.x;
        }
        sum += (1.0 - sum.a) * vec4(unpackUnorm2x16(nearest.z), unpackUnorm2x16(nearest.w));
        if (found != head) nodes[found] = uvec4(nearest.x, first.yzw);     // the first takes the place of the nearest
        head = first.x;
    }
    fragment = sum;
}
