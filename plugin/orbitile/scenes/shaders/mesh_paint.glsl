// Colour and opacity of a fragment of a surface.

#include "light.glsl"

// Share of the light that matte finish has left where it is seen edge-on. Colours on it stand for values.
const float DARKEST = 0.6;

in vec3 p;
in vec3 n;
in vec4 paint;
flat in float surface;

// Colour with premultiplied alpha
vec4 painted() {
    if (!lit) return vec4(paint.rgb * paint.a, paint.a);
    vec3 v = -sight(p);
    vec3 normal = normalize(n);
    float facing = dot(normal, v);
    bool inside = facing < 0.0;
    facing = abs(facing);
    vec3 c;
    float alpha = paint.a;
    if (surface > 0.75) {
        c = shade(paint.rgb, inside ? -normal : normal, v, inside ? 0.10 : 0.45);
        if (inside) c *= 0.85;
        // A glass wall is the denser the more it is seen edge-on: rims of lobes come out, their fronts stay clear.
        float rim = 1.0 - pow(1.0 - min(paint.a, 0.999), 1.0 / (0.28 + 0.72 * facing));
        alpha = paint.a >= 1.0 ? 1.0 : rim;
    } else {
        // All three channels of linear light by one factor: the lightness changes, and no hue (Oklab).
        float away = surface < 0.25 ? 0.0 : 1.0 - facing;
        c = mix(1.0, DARKEST, away * away) * paint.rgb;
    }
    return vec4(to_display(c) * alpha, alpha);
}
