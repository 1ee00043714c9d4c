#version 330 core
// Vertices of a surface.

layout(location = 0) in vec3 position; // relative to the middle of the scene
layout(location = 1) in vec3 normal;
layout(location = 2) in vec4 colour;   // linear light where the scene is lit, else display values
layout(location = 3) in float finish;  // 1 glass, 0.5 matte, 0 paper
uniform mat4 view;
uniform mat4 projection;
invariant gl_Position;
out vec3 p;
out vec3 n;
out vec4 paint;
flat out float surface;

void main() {
    vec4 seen = view * vec4(position, 1.0);
    p = seen.xyz;
    n = mat3(view) * normal;
    paint = colour;
    surface = finish;
    gl_Position = projection * seen;
}
