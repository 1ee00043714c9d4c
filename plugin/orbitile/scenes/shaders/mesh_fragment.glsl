#version 330 core
// A fragment of a surface that is opaque, or is laid under those peeled before it.
#include "mesh_paint.glsl"

out vec4 fragment;

void main() { fragment = painted(); }
