#version 330 core
// Samples to pixels: layers over what is opaque over the background.

uniform sampler2D solid;               // premultiplied
uniform sampler2D layers;              // premultiplied
const int SAMPLES = 2;                 // along each edge of a pixel, as in draw.py; known, so that loops are unrolled
uniform vec4 background;               // premultiplied
out vec4 fragment;

void main() {
    // A tent two pixels wide: smoother than a mean over the pixel with as many samples.
    // The tile has an edge of a pixel for it.
    vec4 sum = vec4(0.0);
    float total = 0.0;
    ivec2 corner = (ivec2(gl_FragCoord.xy) + 1) * SAMPLES;
    for (int y = -SAMPLES / 2; y < SAMPLES + SAMPLES / 2; y++) {
        for (int x = -SAMPLES / 2; x < SAMPLES + SAMPLES / 2; x++) {
            vec2 offset = (vec2(x, y) + 0.5) / float(SAMPLES) - 0.5;
            float weight = max(1.0 - abs(offset.x), 0.0) * max(1.0 - abs(offset.y), 0.0);
            vec4 front = texelFetch(layers, corner + ivec2(x, y), 0);
            sum += weight * (front + (1.0 - front.a) * texelFetch(solid, corner + ivec2(x, y), 0));
            total += weight;
        }
    }
    sum /= total;
    sum += (1.0 - sum.a) * background;
    fragment = vec4(sum.rgb / max(sum.a, 1e-6), sum.a);    // straight alpha, as PNG wants it
}
