"""Templates of the C code of prediction rules; names between @ are placeholders."""

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
