#version 330 core
// A stick: where the line of sight hits the cylinder.
#include "light.glsl"

uniform mat4 projection;
in vec3 ray;
flat in vec3 base;
flat in vec3 axis;
flat in float len;
flat in vec3 albedo_start;
flat in vec3 albedo_end;
flat in float radius;
out vec4 fragment;

void main() {
    vec3 d = sight(ray);
    vec3 across = d - dot(d, axis) * axis;     // the problem in the plane at right angles to the stick
    vec3 b = base - ray - dot(base - ray, axis) * axis;
    float a = dot(across, across);
    float along = dot(across, b) / max(a, 1e-12);
    vec3 offset = b - along * across;
    float depth2 = radius * radius - dot(offset, offset);
    if (depth2 < 0.0) discard;
    vec3 p = ray + (along - sqrt(depth2 / max(a, 1e-12))) * d;
    float t = dot(p - base, axis);
    if (t < 0.0 || t > len) discard;           // the ends are inside balls, so no caps
    gl_FragDepth = depth_of(projection, p);
    vec3 n = (p - base - t * axis) / radius;
    vec3 c = t < 0.5 * len ? albedo_start : albedo_end;
    if (lit) {
        c = shade(0.94 * c, n, -d, 0.22);
        c *= mix(0.45, 1.0, smoothstep(0.0, 0.55, dot(n, -d)));
        c = to_display(c);
    }
    fragment = vec4(c, 1.0);
}
