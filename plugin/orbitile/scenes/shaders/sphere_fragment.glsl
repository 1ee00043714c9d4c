#version 330 core
// A ball: where the line of sight hits the sphere.
#include "light.glsl"

uniform mat4 projection;
in vec3 ray;
flat in vec4 sphere;
flat in vec3 albedo;
out vec4 fragment;

void main() {
    vec3 d = sight(ray);
    vec3 to_centre = sphere.xyz - ray;         // from a point nearby: no cancellation far from the eye
    float along = dot(d, to_centre);
    vec3 offset = to_centre - along * d;
    float depth2 = sphere.w * sphere.w - dot(offset, offset);
    if (depth2 < 0.0) discard;
    vec3 p = ray + (along - sqrt(depth2)) * d;
    gl_FragDepth = depth_of(projection, p);
    vec3 n = (p - sphere.xyz) / sphere.w;
    vec3 c = albedo;
    if (lit) {
        c = shade(0.94 * albedo, n, -d, 0.30);
        c *= mix(0.45, 1.0, smoothstep(0.0, 0.55, dot(n, -d)));   // darker rim: white atoms stand out from white paper
        c = to_display(c);
    }
    fragment = vec4(c, 1.0);
}
