"""Templates of the C code of models; names between @ are placeholders."""

HEAD = """
/* @who@, written by budgetsvm: C99, no allocation, math.h alone.
 * Constants of @short@: @bytes@ bytes.
 *   @N@_FEATURES numbers a row, @N@_OUTPUTS decision values. */
#ifndef @N@_H
#define @N@_H

#include <math.h>
#include <stdint.h>

#define @N@_FEATURES @d@
#define @N@_OUTPUTS @outputs@
"""

EXP = """
/* exp(x) for x <= 0, to 2 units in the last place. */
static inline float @n@_exp(float x)
{
    union { float f; uint32_t u; } power;
    float p, r;
    int n;
    if (!(x > -87.0f)) return x != x ? x : 0.0f;
    n = (int)(x * 1.44269504f - 0.5f);
    r = x - (float)n * 0.693359375f;
    r = r + (float)n * 2.12194440e-4f;
    p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1.0f;
    power.u = (uint32_t)(n + 127) << 23;
    return p * power.f;
}
"""

MATERN32 = """
static inline float @n@_matern32(float square)
{
    const float t = sqrtf(square);
    return (1.0f + t) * @exp@(-t);
}
"""

MATERN52 = """
static inline float @n@_matern52(float square)
{
    const float t = sqrtf(square);
    return (1.0f + t + square * (1.0f / 3.0f)) * @exp@(-t);
}
"""

POWER = """
static inline float @n@_power(float base, unsigned degree)
{
    float out = 1.0f;
    for (; degree > 0; degree >>= 1, base *= base)
        if (degree & 1u) out *= base;
    return out;
}
"""

READ_FLOAT = """
    for (j = 0; j < @d@; j++) r[j] = x[j]@origin@;
"""

#: Integers have no NaN: a row with one has no sum of them.
READ_SHORT = """
    for (j = 0; j < @d@; j++) {
        const float steps = (x[j]@origin@) * @by@;
        const float near = steps < 0.0f ? steps - 0.5f : steps + 0.5f;
        if (steps != steps) {
            for (c = 0; c < @outputs@; c++) out[c] = (double)steps;
            return;
        }
        r[j] = steps > 32767.0f ? 32767 : steps < -32767.0f ? -32767 : (int32_t)near;
    }
"""

ADD = """
    for (t = 0; t < @terms@; t++, w += @width@) {
        v = @n@_term@at@(r, t);
        for (c = 0; c < @outputs@; c++) out[c] += (double)v * w[c];
    }
"""

ADD_PAIRS = """
    for (c = 0; c < @k@; c++)
        for (t = @ends@[c]; t < @ends@[c + 1]; t++) {
            const @weight@ *own = w + @width@ * t;
            int e;
            v = @n@_term@at@(r, t);
            for (e = 0; e < @k@; e++) {
                if (e > c) out[c * @k@ - c * (c + 1) / 2 + e - c - 1] += (double)v * own[e - 1];
                if (e < c) out[e * @k@ - e * (e + 1) / 2 + c - e - 1] += (double)v * own[e];
            }
        }
"""

EXPANSION = """
static inline float @n@_term@at@(const @row@ *r, int t)
{
    const @kind@ *p = @table@ + @d@ * t;
    @sum@ a = 0;
    float s;
    int j;
    for (j = 0; j < @d@; j++) { @term@ }
    s = @total@;
    return @value@;
}

static inline void @n@_sum@at@(const float *x, double *out)
{
    @row@ r[@d@];
    const @weight@ *w = @weights@;
    float v;
    int j, t, c;
@reading@
    for (c = 0; c < @outputs@; c++) out[c] = 0.0;
@adding@
    for (c = 0; c < @outputs@; c++) out[c] = out[c] * @worth@ + @offsets@[c];
}
"""

RANKS = """
/* The score of a value in its column: linear between knots. */
static inline double @n@_rank@at@(int j, float x)
{
    int low = @ends@[j], high = @ends@[j + 1];
    double share;
    while (low < high) {
        const int middle = low + (high - low) / 2;
        if (@knots@[middle] <= x) low = middle + 1;
        else high = middle;
    }
    if (low == @ends@[j]) return @scores@[low];
    if (low == @ends@[j + 1]) return @scores@[low - 1];
    share = ((double)x - @knots@[low - 1]) / ((double)@knots@[low] - @knots@[low - 1]);
    return @scores@[low - 1] + share * ((double)@scores@[low] - @scores@[low - 1]);
}
"""

CODING = """
static inline void @n@_code@at@(const float *x, float *r)
{
    int j;
    for (j = 0; j < @d@; j++) {
        const double v = (@value@ - @centre@[j]) * @factor@[j];
        r[j] = (float)((v > @edge@ ? @edge@ : v < -@edge@ ? -@edge@ : v) * @scales@[j]);
    }
}
"""

ADD_CODED = """
    @n@_code@at@(x, r);
    @n@_sum@at@(r, part);
    for (c = 0; c < @outputs@; c++) out[c] += part[c];
"""

CODED = """
static inline void @n@_sum0(const float *x, double *out)
{
    float r[@d@];
    double part[@outputs@];
    int c;
    for (c = 0; c < @outputs@; c++) out[c] = 0.0;
@calls@
}
"""

#: NaN is what is not equal to itself.
FILLING = """
    float r[@width@];
    int j, k = 0;
    for (j = 0; j < @d@; j++) {
        const int misses = x[j] != x[j];
        r[k++] = misses ? @fills@[j] : x[j];
        if (@flags@[j]) r[k++] = (float)misses;
    }
"""

LINEAR = """
static inline void @n@_sum@at@(const float *x, double *out)
{
    int j, c;
    for (c = 0; c < @outputs@; c++) {
        out[c] = 0.0;
        for (j = 0; j < @d@; j++) out[c] += (double)@weights@[c * @d@ + j] * x[j];
        out[c] = out[c] * @worth@ + @offsets@[c];
    }
}
"""

WAVES = """
static inline void @n@_sum@at@(const float *x, double *out)
{
    int i, j, c;
    for (c = 0; c < @outputs@; c++) out[c] = 0.0;
    for (i = 0; i < @m@; i++) {
        double a = 0.0;
        float turn, wave;
        for (j = 0; j < @d@; j++) a += (double)@frequencies@[i * @d@ + j] * x[j];
        a = a * @step@ + (i < @paired@ ? 0.0f : @phases@[i < @paired@ ? 0 : i - @paired@]);
        turn = (float)(a - 6.283185307179586 * floor(a * 0.15915494309189535 + 0.5));
        wave = cosf(turn);
        for (c = 0; c < @outputs@; c++) out[c] += (double)@weights@[c * @width@ + i] * wave;
        if (i < @paired@) {
            wave = sinf(turn);
            for (c = 0; c < @outputs@; c++)
                out[c] += (double)@weights@[c * @width@ + @m@ + i] * wave;
        }
    }
    for (c = 0; c < @outputs@; c++) out[c] = out[c] * @worth@ + @offsets@[c];
}
"""

WAVE_FEATURES = """
static inline void @n@_sum@at@(const float *x, double *out)
{
    int i, j;
    for (i = 0; i < @m@; i++) {
        double a = 0.0;
        float turn;
        for (j = 0; j < @d@; j++) a += (double)@frequencies@[i * @d@ + j] * x[j];
        a = a * @step@ + (i < @paired@ ? 0.0f : @phases@[i < @paired@ ? 0 : i - @paired@]);
        turn = (float)(a - 6.283185307179586 * floor(a * 0.15915494309189535 + 0.5));
        out[i] = @scale@ * cosf(turn);
        if (i < @paired@) out[@m@ + i] = @scale@ * sinf(turn);
    }
}
"""
