// Lists of the fragments of translucent surfaces, one for each sample.

layout(std430, binding = 0) buffer Heads { uint used; uint heads[]; };     // of the list of each sample, 0 for none
layout(std430, binding = 1) buffer Nodes { uvec4 nodes[]; };    // next, depth, colour with premultiplied alpha
uniform int width;
