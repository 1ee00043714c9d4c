#version 430 core
// A fragment of a translucent surface goes into the list of its sample.
layout(early_fragment_tests) in;
layout(std430, binding = 0) buffer Heads { uint used; uint heads[]; };     // of the list of each sample, 0 for none
layout(std430, binding = 1) buffer Nodes { uvec4 nodes[]; };    // next, depth, colour with premultiplied alpha
uniform int width;
#include "mesh_paint.glsl"

void main() {
    uint node = atomicAdd(used, 1u) + 1u;
    if (node >= uint(nodes.length())) return;      // counted all the same: the host makes room and draws again
    ivec2 at = ivec2(gl_FragCoord.xy);
    vec4 c = painted();
    uint next = atomicExchange(heads[at.y * width + at.x], node);
    nodes[node] = uvec4(next, floatBitsToUint(gl_FragCoord.z), packUnorm2x16(c.rg), packUnorm2x16(c.ba));
}
