/* The limit column of peers.py: for each workload one loop in C, as fast as we know how to write it for that workload
 * alone: float32, int64 indices, contiguous arrays, no strides, no dtypes, no error messages. Indices are checked
 * nowhere, negative ones do not count from the back, and the result's memory is there already.
 *
 * Scatters into large results are partitioned (Beamer, Asanović, Patterson, IPDPS 2017), as ours are.
 */
#include <omp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#if defined(__AVX__)
#include <immintrin.h>
#endif

/* What the machine moves at best: a copy past the caches. Both are aligned to lines. */
void copy(const char *from, char *to, int64_t n, int threads)
{
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t block = 0; block < n; block += 1 << 16) {
#if defined(__AVX__)
        for (int64_t i = block; i < block + (1 << 16) && i < n; i += 32)
            _mm256_stream_si256((__m256i *)(to + i), _mm256_loadu_si256((const __m256i *)(from + i)));
#else
        memcpy(to + block, from + block, n - block < 1 << 16 ? n - block : 1 << 16);
#endif
    }
}

/* What random rows cost by themselves: one load from each of their lines. */
float lines(const float *data, int64_t m, const uint32_t *at, int64_t n_at, int threads)
{
    float sum = 0;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : sum)
    for (int64_t i = 0; i < n_at; i++)
        for (int64_t j = 0; j < m; j += 16)
            sum += data[at[i] * m + j];
    return sum;
}

void gather_pairs(const float *data, const int64_t *at, float *out, int64_t n, int64_t m, int64_t n_at, int64_t k, int threads)
{
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t i = 0; i < n_at; i++)
        out[i] = data[at[2 * i] * m + at[2 * i + 1]];
}

void gather_rows(const float *data, const int64_t *at, float *out, int64_t n, int64_t m, int64_t n_at, int64_t k, int threads)
{
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t i = 0; i < n_at; i++)
        memcpy(out + i * m, data + at[i] * m, m * sizeof(float));
}

void gather_batched_rows(const float *data, const int64_t *at, float *out, int64_t b, int64_t n, int64_t m, int64_t b_at,
                         int64_t n_at, int64_t k, int threads)
{
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t i = 0; i < b * n_at; i++)
        memcpy(out + i * m, data + (i / n_at * n + at[i]) * m, m * sizeof(float));
}

void gather_along_rows(const float *data, const int64_t *at, float *out, int64_t n, int64_t m, int64_t n_at, int64_t m_at,
                       int threads)
{
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t i = 0; i < n_at; i++)
        for (int64_t j = 0; j < m_at; j++)
            out[i * m_at + j] = data[i * m + at[i * m_at + j]];
}

/* Columns in tiles, packed so that a tile lies in the second cache level. */
void gather_along_columns(const float *data, const int64_t *at, float *out, int64_t n, int64_t m, int64_t n_at, int64_t m_at,
                          int threads)
{
    enum { WIDE = 32 };
#pragma omp parallel num_threads(threads)
    {
        float *tile = aligned_alloc(64, n * WIDE * sizeof(float));
#pragma omp for schedule(dynamic)
        for (int64_t c = 0; c < m_at; c += WIDE) {
            for (int64_t i = 0; i < n; i++)
                memcpy(tile + i * WIDE, data + i * m + c, WIDE * sizeof(float));
            for (int64_t i = 0; i < n_at; i++)
                for (int64_t j = 0; j < WIDE; j++)
                    out[i * m_at + c + j] = tile[at[i * m_at + c + j] * WIDE + j];
        }
        free(tile);
    }
}

typedef struct {
    uint32_t place;
    float value;
} Record;

/* Updates are sorted by tile of the result, in order; then each tile is copied and updated by one thread. */
#define PARTITIONED(NAME, APPLY)                                                                                          \
    void NAME(const float *data, const int64_t *at, const float *updates, float *out, int64_t n, int64_t n_at, int64_t k, \
              int threads)                                                                                                \
    {                                                                                                                     \
        enum { SHIFT = 16 };                                                                                              \
        int64_t n_tiles = (n >> SHIFT) + 1;                                                                               \
        static Record *records;                                                                                           \
        static int64_t room;                                                                                              \
        if (room < n_at) {                                                                                                \
            free(records);                                                                                                \
            records = malloc(n_at * sizeof(Record));                                                                      \
            room = n_at;                                                                                                  \
        }                                                                                                                 \
        int64_t *start = calloc(threads * n_tiles + 1, sizeof(int64_t));                                                  \
        _Pragma("omp parallel num_threads(threads)")                                                                      \
        {                                                                                                                 \
            int t = omp_get_thread_num();                                                                                 \
            int64_t low = n_at * t / threads, high = n_at * (t + 1) / threads;                                            \
            for (int64_t i = low; i < high; i++)                                                                          \
                start[t * n_tiles + (at[i] >> SHIFT)]++;                                                                  \
            _Pragma("omp barrier") _Pragma("omp single")                                                                  \
            {                                                                                                             \
                int64_t sum = 0;                                                                                          \
                for (int64_t tile = 0; tile < n_tiles; tile++)                                                            \
                    for (int u = 0; u < threads; u++) {                                                                   \
                        int64_t count = start[u * n_tiles + tile];                                                        \
                        start[u * n_tiles + tile] = sum;                                                                  \
                        sum += count;                                                                                     \
                    }                                                                                                     \
            }                                                                                                             \
            for (int64_t i = low; i < high; i++)                                                                          \
                records[start[t * n_tiles + (at[i] >> SHIFT)]++] = (Record){(uint32_t)at[i], updates[i]};                 \
            _Pragma("omp barrier") _Pragma("omp for schedule(dynamic)") for (int64_t tile = 0; tile < n_tiles; tile++)    \
            {                                                                                                             \
                int64_t first = tile << SHIFT, last = first + (1 << SHIFT) < n ? first + (1 << SHIFT) : n;                \
                if (first >= last)                                                                                        \
                    continue;                                                                                             \
                memcpy(out + first, data + first, (last - first) * sizeof(float));                                        \
                int64_t *ends = start + (threads - 1) * n_tiles;                                                          \
                int64_t begin = tile ? ends[tile - 1] : 0, end = ends[tile];                                              \
                for (int64_t i = begin; i < end; i++) {                                                                   \
                    float *x = out + records[i].place, u = records[i].value;                                              \
                    APPLY;                                                                                                \
                }                                                                                                         \
            }                                                                                                             \
        }                                                                                                                 \
        free(start);                                                                                                      \
    }

PARTITIONED(scatter_none, *x = u)
PARTITIONED(scatter_add, *x += u)
PARTITIONED(scatter_max, *x = *x >= u || *x != *x ? *x : u)

/* A map from rows to their last update, then one pass that copies each row from data or from its update. */
void scatter_rows_none(const float *data, const int64_t *at, const float *updates, float *out, int64_t n, int64_t m,
                       int64_t n_at, int64_t k, int threads)
{
    int32_t *last = malloc(n * sizeof(int32_t));
    memset(last, 0xff, n * sizeof(int32_t));
    for (int64_t i = 0; i < n_at; i++)
        last[at[i]] = (int32_t)i;
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t i = 0; i < n; i++)
        memcpy(out + i * m, last[i] < 0 ? data + i * m : updates + last[i] * m, m * sizeof(float));
    free(last);
}

/* A copy, then each thread applies the updates of its half of the rows. */
void scatter_rows_add(const float *data, const int64_t *at, const float *updates, float *out, int64_t n, int64_t m,
                      int64_t n_at, int64_t k, int threads)
{
#pragma omp parallel num_threads(threads)
    {
        int t = omp_get_thread_num();
        int64_t low = n * t / threads, high = n * (t + 1) / threads;
        memcpy(out + low * m, data + low * m, (high - low) * m * sizeof(float));
        for (int64_t i = 0; i < n_at; i++)
            if (at[i] >= low && at[i] < high)
                for (int64_t j = 0; j < m; j++)
                    out[at[i] * m + j] += updates[i * m + j];
    }
}

#define ALONG_ROWS(NAME, APPLY)                                                                                           \
    void NAME(const float *data, const int64_t *at, const float *updates, float *out, int64_t n, int64_t m, int64_t n_at, \
              int64_t m_at, int threads)                                                                                  \
    {                                                                                                                     \
        _Pragma("omp parallel for num_threads(threads) schedule(static)") for (int64_t i = 0; i < n; i++)                 \
        {                                                                                                                 \
            memcpy(out + i * m, data + i * m, m * sizeof(float));                                                         \
            for (int64_t j = 0; j < m_at; j++) {                                                                          \
                float *x = out + i * m + at[i * m_at + j], u = updates[i * m_at + j];                                     \
                APPLY;                                                                                                    \
            }                                                                                                             \
        }                                                                                                                 \
    }

ALONG_ROWS(scatter_along_rows_none, *x = u)
ALONG_ROWS(scatter_along_rows_add, *x += u)
