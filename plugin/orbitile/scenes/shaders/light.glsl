// Lines of sight, depth and light: what all fragment shaders of the scene share.

uniform bool lit;
uniform bool parallel;                 // an orthographic camera: all lines of sight are parallel

vec3 sight(vec3 p) { return parallel ? vec3(0.0, 0.0, -1.0) : normalize(p); }

float depth_of(mat4 projection, vec3 p) {
    vec4 clip = projection * vec4(p, 1.0);
    if (abs(clip.z) > clip.w) discard;     // before or behind what the camera sees, as triangles are cut by OpenGL
    return 0.5 + 0.5 * clip.z / clip.w;
}

vec3 to_display(vec3 c) {
    c = clamp(c, 0.0, 1.0);
    return mix(c * 12.92, 1.055 * pow(c, vec3(1.0 / 2.4)) - 0.055, step(0.0031308, c));
}

// Soft studio light, fixed to the camera: key from the upper left, fill from the right, sky and ground.
const vec3 KEY = normalize(vec3(-0.45, 0.65, 0.80));
const vec3 FILL = normalize(vec3(0.80, -0.10, 0.55));

vec3 shade(vec3 albedo, vec3 n, vec3 v, float gloss) {
    float key = max(dot(n, KEY), 0.0);
    float fill = 0.5 + 0.5 * dot(n, FILL);
    float sky = 0.5 + 0.5 * n.y;
    float diffuse = 0.70 * key + 0.20 * fill * fill + mix(0.16, 0.28, sky);
    vec3 h = normalize(KEY + v);
    float highlight = gloss * pow(max(dot(n, h), 0.0), 48.0);
    return albedo * diffuse + highlight;
}
