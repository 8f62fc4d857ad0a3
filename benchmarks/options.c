/* The C loops of options.py: on one thread, sums of points of float32 at int64 indices, sums with include_self=False, and
 * means, each in the ways that we know. Indices are not checked, and all memory is there already.
 *
 * AHEAD more indices than n are read, and prefetched if `is_far`: the result exceeds L2.
 */
#include <stdint.h>
#include <string.h>

enum { AHEAD = 24 };

typedef struct {
    const float *data;
    const int64_t *at;
    const float *updates;
    float *out;
    char *scratch; /* a cell for each point: 4 bytes more than it has */
    int64_t n_points, n, is_far;
} Call;

#define EACH_UPDATE(W, PREFETCHED, BODY)                                                                \
    for (int64_t i = 0; i < c->n; i++) {                                                                \
        const int64_t k = c->at[i];                                                                     \
        const float *u = c->updates + i * W;                                                            \
        if (is_far) __builtin_prefetch(PREFETCHED, 1);                                                  \
        BODY                                                                                            \
    }
#define EACH_NUMBER(W, BODY) for (int j = 0; j < W; j++) { BODY }

#define LOOPS(W)                                                                                        \
    typedef struct {                                                                                    \
        float sum[W];                                                                                   \
        int32_t count;                                                                                  \
    } Cell##W;                                                                                          \
                                                                                                        \
    static inline void sum##W(const Call *c, const int is_far) {                                        \
        EACH_UPDATE(W, c->out + c->at[i + AHEAD] * W, EACH_NUMBER(W, c->out[k * W + j] += u[j];))       \
    }                                                                                                   \
    static inline void sum_in_cells##W(const Call *c, const int is_far) {                               \
        Cell##W *cells = (Cell##W *)c->scratch;                                                         \
        EACH_UPDATE(W, cells + c->at[i + AHEAD], EACH_NUMBER(W, cells[k].sum[j] += u[j];) cells[k].count++;) \
    }                                                                                                   \
    static inline void sum_and_mark##W(const Call *c, const int is_far) {                               \
        EACH_UPDATE(W, c->out + c->at[i + AHEAD] * W, c->scratch[k] = 1;                                \
                    EACH_NUMBER(W, c->out[k * W + j] += u[j];))                                         \
    }                                                                                                   \
    static inline void sum_and_count##W(const Call *c, const int is_far) {                              \
        int32_t *counts = (int32_t *)c->scratch;                                                        \
        EACH_UPDATE(W, c->out + c->at[i + AHEAD] * W, counts[k]++;                                      \
                    EACH_NUMBER(W, c->out[k * W + j] += u[j];))                                         \
    }                                                                                                   \
    static void copy##W(const Call *c) { memcpy(c->out, c->data, c->n_points * W * sizeof(float)); }    \
    static void start##W(const Call *c) {                                                               \
        for (int64_t i = 0; i < c->n_points * W; i++) c->out[i] = -0.0f;                                \
    }                                                                                                   \
    static void divide##W(const Call *c) {                                                              \
        const int32_t *counts = (const int32_t *)c->scratch;                                            \
        for (int64_t i = 0; i < c->n_points; i++) {                                                     \
            const float terms = (float)(counts[i] + 1);                                                 \
            EACH_NUMBER(W, c->out[i * W + j] /= terms;)                                                 \
        }                                                                                               \
    }                                                                                                   \
                                                                                                        \
    void add##W(const Call *c) {                                                                        \
        copy##W(c);                                                                                     \
        if (c->is_far) sum##W(c, 1);                                                                    \
        else sum##W(c, 0);                                                                              \
    }                                                                                                   \
    void first_by_marks##W(const Call *c) {                                                             \
        start##W(c);                                                                                    \
        memset(c->scratch, 0, c->n_points);                                                             \
        if (c->is_far) sum_and_mark##W(c, 1);                                                           \
        else sum_and_mark##W(c, 0);                                                                     \
        for (int64_t i = 0; i < c->n_points; i++)                                                       \
            EACH_NUMBER(W, c->out[i * W + j] = c->scratch[i] ? c->out[i * W + j] : c->data[i * W + j];) \
    }                                                                                                   \
    void first_in_cells##W(const Call *c) {                                                             \
        Cell##W *cells = (Cell##W *)c->scratch;                                                         \
        for (int64_t i = 0; i < c->n_points; i++) {                                                     \
            EACH_NUMBER(W, cells[i].sum[j] = -0.0f;)                                                    \
            cells[i].count = 0;                                                                         \
        }                                                                                               \
        if (c->is_far) sum_in_cells##W(c, 1);                                                           \
        else sum_in_cells##W(c, 0);                                                                     \
        for (int64_t i = 0; i < c->n_points; i++)                                                       \
            EACH_NUMBER(W, c->out[i * W + j] = cells[i].count ? cells[i].sum[j] : c->data[i * W + j];)  \
    }                                                                                                   \
    /* Few updates: their destinations are reset before. */                                             \
    void first_by_updates##W(const Call *c) {                                                           \
        copy##W(c);                                                                                     \
        for (int64_t i = 0; i < c->n; i++) EACH_NUMBER(W, c->out[c->at[i] * W + j] = -0.0f;)            \
        if (c->is_far) sum##W(c, 1);                                                                    \
        else sum##W(c, 0);                                                                              \
    }                                                                                                   \
    void mean_by_counts##W(const Call *c) {                                                             \
        copy##W(c);                                                                                     \
        memset(c->scratch, 0, c->n_points * 4);                                                         \
        if (c->is_far) sum_and_count##W(c, 1);                                                          \
        else sum_and_count##W(c, 0);                                                                    \
        divide##W(c);                                                                                   \
    }                                                                                                   \
    void mean_in_passes##W(const Call *c) {                                                             \
        int32_t *counts = (int32_t *)c->scratch;                                                        \
        copy##W(c);                                                                                     \
        if (c->is_far) sum##W(c, 1);                                                                    \
        else sum##W(c, 0);                                                                              \
        memset(counts, 0, c->n_points * 4);                                                             \
        for (int64_t i = 0; i < c->n; i++) counts[c->at[i]]++;                                          \
        divide##W(c);                                                                                   \
    }                                                                                                   \
    void mean_in_cells##W(const Call *c) {                                                              \
        Cell##W *cells = (Cell##W *)c->scratch;                                                         \
        for (int64_t i = 0; i < c->n_points; i++) {                                                     \
            EACH_NUMBER(W, cells[i].sum[j] = c->data[i * W + j];)                                       \
            cells[i].count = 1;                                                                         \
        }                                                                                               \
        if (c->is_far) sum_in_cells##W(c, 1);                                                           \
        else sum_in_cells##W(c, 0);                                                                     \
        for (int64_t i = 0; i < c->n_points; i++) {                                                     \
            const float terms = (float)cells[i].count;                                                  \
            EACH_NUMBER(W, c->out[i * W + j] = cells[i].sum[j] / terms;)                                \
        }                                                                                               \
    }                                                                                                   \
    /* Few updates: their destinations are divided afterwards. */                                       \
    void mean_by_updates##W(const Call *c) {                                                            \
        int32_t *counts = (int32_t *)c->scratch;                                                        \
        copy##W(c);                                                                                     \
        memset(counts, 0, c->n_points * 4);                                                             \
        if (c->is_far) sum_and_count##W(c, 1);                                                          \
        else sum_and_count##W(c, 0);                                                                    \
        for (int64_t i = 0; i < c->n; i++) {                                                            \
            const int64_t k = c->at[i];                                                                 \
            if (counts[k]) {                                                                            \
                const float terms = (float)(counts[k] + 1);                                             \
                EACH_NUMBER(W, c->out[k * W + j] /= terms;)                                             \
                counts[k] = 0;                                                                          \
            }                                                                                           \
        }                                                                                               \
    }

LOOPS(1)
LOOPS(3)
LOOPS(16)

/* Of `n_units` calls that are adjacent in all arrays but scratch. */
void in_units(void (*loop)(const Call *), const Call *first, int64_t n_units, int64_t width) {
    Call call = *first;
    for (int64_t unit = 0; unit < n_units; unit++) {
        loop(&call);
        call.data += call.n_points * width;
        call.out += call.n_points * width;
        call.at += call.n;
        call.updates += call.n * width;
    }
}
