"""The text of C headers; names between @ are put in."""

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
    if (!(x > -87.0f)) return 0.0f;
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

READ_SHORT = """
    for (j = 0; j < @d@; j++) {
        const float v = (x[j]@origin@) * @by@;
        const float near = v < 0.0f ? v - 0.5f : v + 0.5f;
        r[j] = v > 32767.0f ? 32767 : v < -32767.0f ? -32767 : (int32_t)near;
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

VALUES = """
static inline void @n@_values(const float *x, double *values)
{
    int i = 0;
    @scaled@
    @calls@
}
"""

RISING = """
for (i = 1; i < @count@; i++) {
        double own = values[i];
        int j = i;
        for (; j > 0 && values[j - 1] > own; j--) values[j] = values[j - 1];
        values[j] = own;
    }
"""

PLAIN = """
static inline void @n@_decision(const float *x, float *out)
{
    double values[@count@];
    int i;
    @n@_values(x, values);
    for (i = 0; i < @width@; i++) out[i] = i < @count@ ? (float)values[i < @count@ ? i : 0] : 0.0f;
}
"""

SIDES = """
static inline void @n@_decision(const float *x, float *out)
{
    double value;
    @n@_values(x, &value);
    out[0] = fabs(value) <= @edge@ ? 0.0f : (float)value;
}

/* 1 inside or on the boundary, -1 outside. */
static inline int @n@_label(const float *x)
{
    float value;
    @n@_decision(x, &value);
    return value >= 0.0f ? 1 : -1;
}
"""

TWO = """
static inline void @n@_decision(const float *x, float *out)
{
    double value;
    @n@_values(x, &value);
    out[0] = (float)(@sign@value);
}
"""

TWO_LABEL = """
/* A place in @n@_classes. */
static inline int @n@_label(const float *x)
{
    float value;
    @n@_decision(x, &value);
    return value > 0.0f;
}
"""

SEVERAL = """
static inline void @n@_decision(const float *x, float *out)
{
    double values[@k@];
    int c;
    @n@_values(x, values);
    for (c = 0; c < @k@; c++) out[c] = (float)values[c];
}
"""

SEVERAL_LABEL = """
/* A place in @n@_classes. */
static inline int @n@_label(const float *x)
{
    double values[@k@];
    int c, best = 0;
    @n@_values(x, values);
    for (c = 1; c < @k@; c++)
        if (values[c] > values[best]) best = c;
    return best;
}
"""

VOTES = """
/* Votes of the pairs; a value of 0 is the first's where `first` says so, and the second's else. */
static inline void @n@_votes(const double *values, int first, double *votes, double *sums)
{
    int i, j, pair = 0;
    for (i = 0; i < @k@; i++) votes[i] = sums[i] = 0.0;
    for (i = 0; i < @k@; i++)
        for (j = i + 1; j < @k@; j++, pair++) {
            const double v = values[pair];
            votes[v > 0.0 || (first && v >= 0.0) ? i : j] += 1.0;
            sums[i] += v;
            sums[j] -= v;
        }
}

static inline void @n@_by_class(const double *values, double *out)
{
    double votes[@k@], sums[@k@];
    int c;
    @n@_votes(values, 1, votes, sums);
    for (c = 0; c < @k@; c++) out[c] = votes[c] + sums[c] / (3.0 * (fabs(sums[c]) + 1.0));
}
"""

OF_CLASSES = """
static inline void @n@_decision(const float *x, float *out)
{
    double values[@count@], of_classes[@k@];
    int c;
    @n@_values(x, values);
    @n@_by_class(values, of_classes);
    for (c = 0; c < @k@; c++) out[c] = (float)of_classes[c];
}
"""

OF_PAIRS = """
static inline void @n@_decision(const float *x, float *out)
{
    double values[@count@];
    int c;
    @n@_values(x, values);
    for (c = 0; c < @count@; c++) out[c] = (float)values[c];
}
"""

BY_VOTES = """
/* A place in @n@_classes. */
static inline int @n@_label(const float *x)
{
    double values[@count@], votes[@k@], sums[@k@];
    int c, best = 0;
    @n@_values(x, values);
    @n@_votes(values, 0, votes, sums);
    for (c = 1; c < @k@; c++)
        if (votes[c] > votes[best]) best = c;
    return best;
}
"""

BY_TIES = """
/* A place in @n@_classes. */
static inline int @n@_label(const float *x)
{
    double values[@count@], of_classes[@k@];
    int c, best = 0;
    @n@_values(x, values);
    @n@_by_class(values, of_classes);
    for (c = 1; c < @k@; c++)
        if (of_classes[c] > of_classes[best]) best = c;
    return best;
}
"""

COUPLE = """
/* Probabilities of classes from shares of the first of each pair, by elimination. */
static inline void @n@_couple(const double *shares, double *p)
{
    double r[@k@][@k@], q[@k@][@k@], a[@k@][@k@], sum = 0.0;
    int i, j, l, pair = 0;
    for (i = 0; i < @k@; i++)
        for (j = i + 1; j < @k@; j++, pair++) {
            double share = shares[pair];
            share = share < 1e-7 ? 1e-7 : share > 1.0 - 1e-7 ? 1.0 - 1e-7 : share;
            r[i][j] = share;
            r[j][i] = 1.0 - share;
        }
    for (i = 0; i < @k@; i++) {
        q[i][i] = 0.0;
        for (j = 0; j < @k@; j++)
            if (j != i) {
                q[i][i] += r[j][i] * r[j][i];
                q[i][j] = -r[j][i] * r[i][j];
            }
    }
    /* The last is one less the others: a positive definite system of all but it. */
    l = @k@ - 1;
    for (i = 0; i < l; i++) {
        for (j = 0; j < l; j++) a[i][j] = q[i][j] - q[i][l] - q[l][j] + q[l][l];
        a[i][l] = q[l][l] - q[i][l];
    }
    for (pair = 0; pair < l; pair++)
        for (i = 0; i < l; i++)
            if (i != pair) {
                const double factor = a[i][pair] / a[pair][pair];
                for (j = pair; j <= l; j++) a[i][j] -= factor * a[pair][j];
            }
    p[l] = 1.0;
    for (i = 0; i < l; i++) {
        p[i] = a[i][l] / a[i][i];
        p[l] -= p[i];
    }
    for (i = 0; i < @k@; i++) sum += p[i] = p[i] > 0.0 ? p[i] : 0.0;
    for (i = 0; i < @k@; i++) p[i] /= sum;
}
"""

SIGMOIDS = """
static inline double @n@_share(int c, double f)
{
    return 1.0 / (1.0 + exp(@slopes@[c] * f + @shifts@[c]));
}
"""

STEPS = """
static inline double @n@_share(int c, double f)
{
    const int last = @ends@[c + 1] - 1;
    int i = @ends@[c];
    if (!(f > @at@[i])) return @share@[i];
    for (; i < last; i++)
        if (f < @at@[i + 1])
            return @share@[i] + (@share@[i + 1] - @share@[i]) *
                ((f - @at@[i]) / (@at@[i + 1] - @at@[i]));
    return @share@[last];
}
"""

SHARES = """
static inline void @n@_shares(const float *x, double *p)
{
    double values[@count@];
    int i;
    @n@_values(x, values);
    for (i = 0; i < @count@; i++) values[i] = @n@_share(i, @sign@values[i]);
@then@
}
"""

OF_TWO = """
    p[0] = 1.0 - values[0];
    p[1] = values[0];
"""

FIRST_OF_TWO = """
    p[0] = values[0] < 1e-7 ? 1e-7 : values[0] > 1.0 - 1e-7 ? 1.0 - 1e-7 : values[0];
    p[1] = 1.0 - p[0];
"""

OF_PARTS = """
    p[0] = 0.0;
    for (i = 0; i < @k@; i++) p[0] += values[i];
    {
        const double sum = p[0];
        for (i = 0; i < @k@; i++) p[i] = sum > 0.0 ? values[i] / sum : 1.0 / @k@;
    }
"""

OF_COUPLED = """
    @n@_couple(values, p);
"""

SOFTMAX = """
static inline void @n@_shares(const float *x, double *p)
{
    double most, sum = 0.0;
    int i;
    @n@_values(x, p);
    most = p[0];
    for (i = 1; i < @k@; i++) most = p[i] > most ? p[i] : most;
    for (i = 0; i < @k@; i++) sum += p[i] = exp(@sharpness@ * (p[i] - most));
    for (i = 0; i < @k@; i++) p[i] /= sum;
}
"""

PROBABILITY = """
/* Probabilities in the order of @n@_classes. */
static inline void @n@_probability(const float *x, float *out)
{
    double p[@k@];
    int i;
    @n@_shares(x, p);
    for (i = 0; i < @k@; i++) out[i] = (float)p[i];
}
"""

MOST_PROBABLE = """
/* A place in @n@_classes: of the most probable. */
static inline int @n@_label(const float *x)
{
    double p[@k@];
    int i, best = 0;
    @n@_shares(x, p);
    for (i = 1; i < @k@; i++)
        if (p[i] > p[best]) best = i;
    return best;
}
"""
