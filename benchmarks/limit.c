/* The limit column of peers.py: for each workload one loop in C, as fast as we know how to write it for that workload
 * alone: float32, int64 indices, contiguous arrays, no strides, no dtypes, no error messages. Indices are checked
 * nowhere, negative ones do not count from the back, and the result's memory is there already.
 *
 * Rows that are named at random are prefetched, and written by non-temporal stores. Scatters into large results are
 * partitioned (Beamer, Asanović, Patterson, IPDPS 2017), as ours are.
 */
#define _DEFAULT_SOURCE
#include <omp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#if defined(__linux__)
#include <sys/mman.h>
#endif
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

/* A row of 64 bytes or more, a multiple of 64; `to` is aligned to lines if the result is. */
static inline void move_row(float *to, const float *from, int64_t m)
{
#if defined(__AVX__)
    if (((uintptr_t)to & 31) == 0) {
        for (int64_t j = 0; j < m; j += 8)
            _mm256_stream_ps(to + j, _mm256_loadu_ps(from + j));
        return;
    }
#endif
    memcpy(to, from, m * sizeof(float));
}

static inline void prefetch_row(const float *row, int64_t m)
{
    for (int64_t j = 0; j < m; j += 16)
        __builtin_prefetch(row + j);
}

void gather_pairs(const float *data, const int64_t *at, float *out, int64_t n, int64_t m, int64_t n_at, int64_t k, int threads)
{
    enum { AHEAD = 64 };
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t i = 0; i < n_at; i++) {
        if (i + AHEAD < n_at)
            __builtin_prefetch(data + at[2 * (i + AHEAD)] * m + at[2 * (i + AHEAD) + 1]);
        out[i] = data[at[2 * i] * m + at[2 * i + 1]];
    }
}

void gather_rows(const float *data, const int64_t *at, float *out, int64_t n, int64_t m, int64_t n_at, int64_t k, int threads)
{
    enum { AHEAD = 8 };
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t i = 0; i < n_at; i++) {
        if (i + AHEAD < n_at)
            prefetch_row(data + at[i + AHEAD] * m, m);
        move_row(out + i * m, data + at[i] * m, m);
    }
}

void gather_batched_rows(const float *data, const int64_t *at, float *out, int64_t b, int64_t n, int64_t m, int64_t b_at,
                         int64_t n_at, int64_t k, int threads)
{
    enum { AHEAD = 4 };
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t i = 0; i < b * n_at; i++) {
        if (i + AHEAD < b * n_at)
            prefetch_row(data + ((i + AHEAD) / n_at * n + at[i + AHEAD]) * m, m);
        move_row(out + i * m, data + (i / n_at * n + at[i]) * m, m);
    }
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
    enum { WIDE = 64, AHEAD = 8 };
#pragma omp parallel num_threads(threads)
    {
        float *tile = aligned_alloc(64, n * WIDE * sizeof(float));
#pragma omp for schedule(dynamic)
        for (int64_t c = 0; c < m_at; c += WIDE) {
            for (int64_t i = 0; i < n; i++)
                memcpy(tile + i * WIDE, data + i * m + c, WIDE * sizeof(float));
            for (int64_t i = 0; i < n_at; i++) {
                for (int64_t j = 0; j <= WIDE; j += 8) /* rows of indices are far apart, which the hardware does not foresee */
                    __builtin_prefetch(at + (i + AHEAD) * m_at + c + j, 0, 2);
                float piece[WIDE];
                for (int64_t j = 0; j < WIDE; j++)
                    piece[j] = tile[at[i * m_at + c + j] * WIDE + j];
                move_row(out + i * m_at + c, piece, WIDE);
            }
        }
        free(tile);
    }
}

/* Scatters into large results. Each thread writes its updates, in order, as records of 8 bytes to a bucket for each tile
 * of the result; a bucket is a list of segments, so that nothing is counted first. Then each tile is copied to scratch
 * memory, its records are applied, and it is streamed out, by one thread. Times are bound by memory: a record is written
 * and read once. */
enum { SHIFT = 15, PER_SEGMENT = 255, AHEAD = 4 };

typedef struct {
    uint32_t place;
    float value;
} Record;

typedef struct Segment {
    Record records[PER_SEGMENT];
    struct Segment *next;
} Segment;

typedef struct {
    Record **first, **end; /* of each tile */
    Segment *segments;
    int64_t n_segments;
} Buckets;

static inline Record *next_segment(Record *end, Segment **unused)
{
    Segment *full = (Segment *)((uintptr_t)end & ~(sizeof(Segment) - 1));
    full->next = (*unused)++;
    __builtin_prefetch(*unused + AHEAD, 1);
    return full->next->records;
}

static void fill(Buckets *buckets, const int64_t *at, const float *updates, int64_t n, int64_t n_tiles)
{
    enum { BLOCK = 128 };
    Segment *unused = buckets->segments;
    for (int64_t tile = 0; tile < n_tiles; tile++) /* not all at the begin of a segment: they would share sets of L1 */
        buckets->first[tile] = buckets->end[tile] = unused++->records + tile * 5 % 16 * 8;
    for (int64_t i = 0; i < n; i += BLOCK) {
        Record records[BLOCK];
        uint32_t tiles[BLOCK];
        int64_t m = n - i < BLOCK ? n - i : BLOCK;
        for (int64_t j = 0; j < m; j++) {
            records[j] = (Record){(uint32_t)at[i + j] & ((1 << SHIFT) - 1), updates[i + j]};
            tiles[j] = (uint32_t)(at[i + j] >> SHIFT);
        }
        for (int64_t j = 0; j < BLOCK * 8; j += 64) {
            __builtin_prefetch((const char *)(at + i) + 4096 + j, 0, 2);
            if (j % 128 == 0)
                __builtin_prefetch((const char *)(updates + i) + 4096 + j / 2, 0, 2);
        }
        for (int64_t j = 0; j < m; j++) {
            Record *end = buckets->end[tiles[j]];
            __builtin_prefetch((char *)end + 64, 1); /* a store that misses L1 delays all others */
            memcpy(end++, &records[j], sizeof(Record));
            if (((uintptr_t)end & (sizeof(Segment) - 1)) == sizeof(Record) * PER_SEGMENT)
                end = next_segment(end, &unused);
            buckets->end[tiles[j]] = end;
        }
    }
}

/* A tile that was built in the second cache level; `to` is aligned to lines if the result is. */
static inline void move_tile(float *to, const float *from, int64_t n)
{
#if defined(__AVX__)
    if (((uintptr_t)to & 31) == 0 && n % 8 == 0) {
        for (int64_t i = 0; i < n; i += 8)
            _mm256_stream_ps(to + i, _mm256_load_ps(from + i));
        return;
    }
#endif
    memcpy(to, from, n * sizeof(float));
}

/* The buckets stay allocated, as the result is. */
static Buckets *allocate_buckets(int64_t n_at, int64_t n_tiles, int threads)
{
    static Buckets *buckets;
    static int64_t n_segments, tiles;
    int64_t needed = n_at / threads / PER_SEGMENT + 2 * n_tiles + 1;
    if (buckets && n_segments >= needed && tiles >= n_tiles)
        return buckets;
    buckets = malloc(threads * sizeof(Buckets));
    for (int t = 0; t < threads; t++) {
        buckets[t].segments = aligned_alloc(1 << 21, ((needed * sizeof(Segment) >> 21) + 1) << 21);
#if defined(MADV_HUGEPAGE)
        madvise(buckets[t].segments, needed * sizeof(Segment), MADV_HUGEPAGE);
#endif
        buckets[t].first = malloc(2 * n_tiles * sizeof(Record *));
        buckets[t].end = buckets[t].first + n_tiles;
        memset(buckets[t].segments, 0, needed * sizeof(Segment));
    }
    n_segments = needed;
    tiles = n_tiles;
    return buckets;
}

#define PARTITIONED(NAME, APPLY)                                                                                          \
    void NAME(const float *data, const int64_t *at, const float *updates, float *out, int64_t n, int64_t n_at, int64_t k, \
              int threads)                                                                                                \
    {                                                                                                                     \
        int64_t n_tiles = ((n - 1) >> SHIFT) + 1;                                                                         \
        Buckets *buckets = allocate_buckets(n_at, n_tiles, threads);                                                      \
        _Pragma("omp parallel num_threads(threads)")                                                                      \
        {                                                                                                                 \
            int t = omp_get_thread_num();                                                                                 \
            int64_t low = n_at * t / threads, high = n_at * (t + 1) / threads;                                            \
            fill(&buckets[t], at + low, updates + low, high - low, n_tiles);                                              \
            float *scratch = aligned_alloc(64, sizeof(float) << SHIFT);                                                   \
            _Pragma("omp barrier") _Pragma("omp for schedule(dynamic, 8)") for (int64_t tile = 0; tile < n_tiles; tile++)    \
            {                                                                                                             \
                int64_t start = tile << SHIFT, stop = start + (1 << SHIFT) < n ? start + (1 << SHIFT) : n;                \
                float *tile_out = scratch;                                                                                \
                const float *ahead = data + stop; /* the next tile's data */                                              \
                const float *ahead_stop = data + (stop + (1 << SHIFT) < n ? stop + (1 << SHIFT) : n);                     \
                memcpy(tile_out, data + start, (stop - start) * sizeof(float));                                           \
                for (int from = 0; from < threads; from++) {                                                              \
                    Record *record = buckets[from].first[tile], *end = buckets[from].end[tile];                           \
                    for (;;) {                                                                                            \
                        Segment *segment = (Segment *)((uintptr_t)record & ~(sizeof(Segment) - 1));                       \
                        Record *last = segment->records + PER_SEGMENT;                                                    \
                        int is_last = end >= segment->records && end <= last;                                             \
                        if (is_last)                                                                                      \
                            last = end;                                                                                   \
                        else                                                                                              \
                            for (size_t i = 0; i < sizeof(Segment); i += 64)                                              \
                                __builtin_prefetch((char *)segment->next + i, 0, 2);                                      \
                        for (int i = 0; i < 4096 && ahead < ahead_stop; i += 64, ahead += 16)                             \
                            __builtin_prefetch(ahead, 0, 2);                                                              \
                        for (; record < last; record++) {                                                                 \
                            float *x = tile_out + record->place, u = record->value;                                       \
                            APPLY;                                                                                        \
                        }                                                                                                 \
                        if (is_last)                                                                                      \
                            break;                                                                                        \
                        record = segment->next->records;                                                                  \
                    }                                                                                                     \
                }                                                                                                         \
                move_tile(out + start, scratch, stop - start);                                                            \
            }                                                                                                             \
            free(scratch);                                                                                                \
        }                                                                                                                 \
    }

PARTITIONED(scatter_none, __builtin_prefetch(x, 1); *x = u)
PARTITIONED(scatter_add, *x += u)
/* Without a branch on the order, which the compiler would make. NaN propagates. */
static inline float maximum(float a, float b)
{
#if defined(__AVX__)
    return b == b ? _mm_cvtss_f32(_mm_max_ss(_mm_set_ss(b), _mm_set_ss(a))) : b;
#else
    return a >= b || a != a ? a : b;
#endif
}
PARTITIONED(scatter_max, *x = maximum(*x, u))

/* A map from rows to their last update, then one pass that copies each row from data or from its update. */
void scatter_rows_none(const float *data, const int64_t *at, const float *updates, float *out, int64_t n, int64_t m,
                       int64_t n_at, int64_t k, int threads)
{
    enum { AHEAD = 8 };
    int32_t *last = malloc((n + AHEAD) * sizeof(int32_t));
    memset(last, 0xff, (n + AHEAD) * sizeof(int32_t));
    for (int64_t i = 0; i < n_at; i++) {
        __builtin_prefetch(&last[at[i]], 1);
        last[at[i]] = (int32_t)i;
    }
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t i = 0; i < n; i++) {
        if (last[i + AHEAD] >= 0)
            prefetch_row(updates + last[i + AHEAD] * m, m);
        move_row(out + i * m, last[i] < 0 ? data + i * m : updates + last[i] * m, m);
    }
    free(last);
}

/* Updates are sorted by row, in order; then each row is written once, from data and its updates. */
void scatter_rows_add(const float *data, const int64_t *at, const float *updates, float *out, int64_t n, int64_t m,
                      int64_t n_at, int64_t k, int threads)
{
    enum { AHEAD = 8 };
    int32_t *end = calloc(n + 1, sizeof(int32_t)), *order = malloc((n_at + AHEAD) * sizeof(int32_t));
    for (int64_t i = 0; i < n_at; i++)
        end[at[i] + 1]++;
    for (int64_t i = 0; i < n; i++)
        end[i + 1] += end[i];
    for (int64_t i = 0; i < n_at; i++) {
        __builtin_prefetch(&order[end[at[i]]], 1);
        order[end[at[i]]++] = (int32_t)i;
    }
    memset(order + n_at, 0, AHEAD * sizeof(int32_t));
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t i = 0; i < n; i++) {
        float row[m] __attribute__((aligned(64)));
        int64_t begin = i ? end[i - 1] : 0;
        prefetch_row(updates + order[begin + AHEAD] * m, m);
        if (begin == end[i]) {
            move_row(out + i * m, data + i * m, m);
            continue;
        }
        memcpy(row, data + i * m, m * sizeof(float));
        for (int64_t u = begin; u < end[i]; u++)
            for (int64_t j = 0; j < m; j++)
                row[j] += updates[order[u] * m + j];
        move_row(out + i * m, row, m);
    }
    free(end);
    free(order);
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
