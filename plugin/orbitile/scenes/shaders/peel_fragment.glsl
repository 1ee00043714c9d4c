#version 330 core
// Depth of the next layer: fragments behind the layer before.

uniform sampler2D peeled;              // depth of the layer before
uniform bool first;

void main() {
    if (!first && gl_FragCoord.z <= texelFetch(peeled, ivec2(gl_FragCoord.xy), 0).r) discard;
}
