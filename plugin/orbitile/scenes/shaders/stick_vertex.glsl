#version 330 core
// A stick: the box around it, for stick_fragment.glsl.

layout(location = 0) in vec3 start;    // view space
layout(location = 1) in vec3 end;
layout(location = 2) in vec3 colour_start;
layout(location = 3) in vec3 colour_end;
layout(location = 4) in float thickness;
uniform mat4 projection;
out vec3 ray;
flat out vec3 base;
flat out vec3 axis;
flat out float len;
flat out vec3 albedo_start;
flat out vec3 albedo_end;
flat out float radius;

// Two triangles for each side of a box, as bits of its corners
const int BOX[36] = int[36](0, 2, 1, 1, 2, 3, 4, 5, 6, 5, 7, 6, 0, 1, 4, 1, 5, 4,
                            2, 6, 3, 3, 6, 7, 0, 4, 2, 2, 4, 6, 1, 3, 5, 3, 7, 5);

void main() {
    radius = thickness;
    len = max(length(end - start), 1e-6);
    axis = (end - start) / len;
    vec3 u = normalize(cross(abs(axis.y) < 0.9 ? vec3(0, 1, 0) : vec3(1, 0, 0), axis));
    vec3 v = cross(axis, u);
    int corner = BOX[gl_VertexID];
    vec3 side = vec3(corner & 1, (corner >> 1) & 1, corner >> 2);
    ray = start + radius * ((2.0 * side.x - 1.0) * u + (2.0 * side.y - 1.0) * v) + side.z * len * axis;
    base = start;
    albedo_start = colour_start;
    albedo_end = colour_end;
    gl_Position = projection * vec4(ray, 1.0);
}
