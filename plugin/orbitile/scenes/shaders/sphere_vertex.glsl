#version 330 core
// A ball: the square that covers it, for sphere_fragment.glsl.

layout(location = 0) in vec3 centre;   // view space
layout(location = 1) in float radius;
layout(location = 2) in vec3 colour;   // linear light
uniform mat4 projection;
uniform bool parallel;
out vec3 ray;
flat out vec4 sphere;
flat out vec3 albedo;

void main() {
    // A square through the centre, at right angles to the line of sight, just large enough to cover the outline.
    vec2 corner = vec2(gl_VertexID & 1, gl_VertexID >> 1) * 2.0 - 1.0;
    float distance2 = dot(centre, centre);
    float size = parallel ? radius : radius * sqrt(distance2 / max(distance2 - radius * radius, 1e-6 * distance2));
    vec3 towards = parallel ? vec3(0.0, 0.0, 1.0) : -normalize(centre);
    vec3 right = normalize(cross(abs(towards.y) < 0.9 ? vec3(0, 1, 0) : vec3(1, 0, 0), towards));
    vec3 up = cross(towards, right);
    ray = centre + size * (corner.x * right + corner.y * up);
    sphere = vec4(centre, radius);
    albedo = colour;
    gl_Position = projection * vec4(ray, 1.0);
}
