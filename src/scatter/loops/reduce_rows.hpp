// Contiguous rows of numbers reduced with their updates.
//
//     reduce_rows    for ROWS: each row of data with all its updates, while a part of the row is in registers
//     reduce_each    updates in turn, each with the row at its offset
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#if defined(__SSE2__)
  #include <immintrin.h>
#endif

#include "scatter/loops/table.h"
#include "scatter/loops/operations.hpp"

namespace {

// The updates of a row: those in the places order[0] to order[n - 1]. order[i + ahead] is prefetched, up to
// order[last - 1]: into L1 if the updates are in a cache already, else into L2. streams: non-temporal stores.
struct Run {
    const char *updates;
    ptrdiff_t step;
    const uint32_t *order;
    ptrdiff_t n, last, ahead;
    bool are_cached;
    bool streams;
    ptrdiff_t terms;  // divide the sum by it; 0: do not
};

// One update, which is not prefetched.
GS_ALWAYS_INLINE Run single(const char *update) {
    static const uint32_t first = 0;
    return {update, 0, &first, 1, 0, 1, false, false, 0};
}

// Store a vector of 16 or 32 bytes by a non-temporal store. Others, which rows that are streamed do not have, are stored.
template <class Vector>
GS_ALWAYS_INLINE void stream(char *to, const Vector &vector) {
#if defined(__AVX__)
    if constexpr (sizeof vector == 32) {
        return _mm256_stream_si256(reinterpret_cast<__m256i *>(to), reinterpret_cast<const __m256i &>(vector));
    }
#endif
#if defined(__SSE2__)
    if constexpr (sizeof vector == 16) {
        return _mm_stream_si128(reinterpret_cast<__m128i *>(to), reinterpret_cast<const __m128i &>(vector));
    }
#endif
    memcpy(to, &vector, sizeof vector);
}

template <class Vector>
GS_ALWAYS_INLINE Vector load(const char *from) {
    Vector vector;
    memcpy(&vector, from, sizeof vector);
    return vector;
}

GS_ALWAYS_INLINE uint32_t *count_of(const gs_ahead_t &ahead, int64_t offset) {
    return ahead.counts + ((offset - ahead.origin) >> ahead.shift);
}

// Short rows share cache lines, which then have several prefetches: a part of the prefetches is not carried out.
template <bool counts>
GS_ALWAYS_INLINE void prefetch_ahead(const gs_ahead_t &ahead, const char *out, const int64_t *offsets,
                                     const char *updates, const int64_t *update_offsets, const char *update,
                                     ptrdiff_t i, ptrdiff_t n, ptrdiff_t row_bytes) {
    if (update_offsets) {
        const ptrdiff_t later = i + ahead.updates;
        if (later < n + ahead.n_next) gs_prefetch_row_l2(updates + update_offsets[later], row_bytes);
    } else {
        for (ptrdiff_t k = 0; k < row_bytes; k += 64) GS_PREFETCH_L2(update + ahead.updates + k);
    }
    if (ahead.rows) {
        const ptrdiff_t later = i + ahead.rows;
        const int64_t offset = later < n ? offsets[later] : later - n < ahead.n_next ? ahead.next[later - n] : INT64_MIN;
        if (offset != INT64_MIN) gs_prefetch_row(out + offset, row_bytes);
        if (counts && offset != INT64_MIN) GS_PREFETCH_WRITE(count_of(ahead, offset));
    }
}

// Rows of numbers, in vectors of at most max_bytes bytes.
template <class Operation, class Number, int max_bytes>
struct Rows {
    static constexpr bool can_divide = std::is_same_v<Operation, Add> && std::is_floating_point_v<Number>;

    // Reduce the part of a row from byte `begin` on: `width` vectors, which stay in registers.
    template <int bytes, int width>
    static GS_ALWAYS_INLINE void reduce_part(char *to, const char *from, const Run &run, ptrdiff_t begin) {
        typedef typename VectorOf<Number, bytes>::type Vector;
        Vector parts[width];
        _Pragma("GCC unroll 8")
        for (int k = 0; k < width; k++) parts[k] = load<Vector>(from + begin + k * bytes);
        for (ptrdiff_t i = 0; i < run.n; i++) {
            const char *update = run.updates + run.order[i] * run.step + begin;
            if (i + run.ahead < run.last) {
                const char *later = run.updates + run.order[i + run.ahead] * run.step + begin;
                if (run.are_cached) {
                    gs_prefetch_row(later, bytes * width);
                } else {
                    gs_prefetch_row_l2(later, bytes * width);
                }
            }
            _Pragma("GCC unroll 8")
            for (int j = 0; j < width; j++) {
                // of two cache lines the second first: see compiler.h
                const int k = width * bytes < 128 ? j : j ^ (64 / bytes);
                parts[k] = Operation::reduce(parts[k], load<Vector>(update + k * bytes));
            }
        }
        if constexpr (can_divide) {
            if (run.terms) {
                _Pragma("GCC unroll 8")
                for (int k = 0; k < width; k++) parts[k] /= (Number)run.terms;
            }
        }
        if (run.streams) {
            _Pragma("GCC unroll 8")
            for (int k = 0; k < width; k++) stream(to + begin + k * bytes, parts[k]);
        } else {
            _Pragma("GCC unroll 8")
            for (int k = 0; k < width; k++) memcpy(to + begin + k * bytes, &parts[k], bytes);
        }
    }

    // As reduce_part, of less than 4 bytes. The other numbers of the vectors are 0.
    template <int bytes>
    static GS_ALWAYS_INLINE void reduce_rest(char *to, const char *from, const Run &run, ptrdiff_t begin) {
        typedef typename VectorOf<Number, 4>::type Vector;
        Vector part = {0}, other = {0};
        memcpy(&part, from + begin, bytes);
        for (ptrdiff_t i = 0; i < run.n; i++) {
            memcpy(&other, run.updates + run.order[i] * run.step + begin, bytes);
            part = Operation::reduce(part, other);
        }
        memcpy(to + begin, &part, bytes);
    }

    template <int bytes, int width>
    static GS_ALWAYS_INLINE ptrdiff_t reduce_parts(char *to, const char *from, const Run &run, ptrdiff_t row_bytes,
                                                   ptrdiff_t begin) {
        for (; row_bytes - begin >= bytes * width; begin += bytes * width) {
            reduce_part<bytes, width>(to, from, run, begin);
        }
        return begin;
    }

    static GS_ALWAYS_INLINE void reduce_row(char *to, const char *from, const Run &run, ptrdiff_t row_bytes) {
        ptrdiff_t done = reduce_parts<max_bytes, 8>(to, from, run, row_bytes, 0);
        done = reduce_parts<max_bytes, 4>(to, from, run, row_bytes, done);
        done = reduce_parts<max_bytes, 2>(to, from, run, row_bytes, done);
        done = reduce_parts<max_bytes, 1>(to, from, run, row_bytes, done);
        done = reduce_parts<16, 1>(to, from, run, row_bytes, done);
        done = reduce_parts<8, 1>(to, from, run, row_bytes, done);
        if constexpr (sizeof(Number) <= 4) done = reduce_parts<4, 1>(to, from, run, row_bytes, done);
        if constexpr (sizeof(Number) <= 2) {
            if (row_bytes - done >= 2) {
                reduce_rest<2>(to, from, run, done);
                done += 2;
            }
        }
        if constexpr (sizeof(Number) == 1) {
            if (row_bytes - done >= 1) reduce_rest<1>(to, from, run, done);
        }
    }

    // width: the vectors of a row, if it is a constant; else 0. The fewer instructions a row takes, the more of the
    // following rows the CPU reads at the same time.
    template <int width, bool divides>
    static GS_NOINLINE void reduce_rows_of(char *to, const char *source, ptrdiff_t source_step, ptrdiff_t row_bytes,
                                           const gs_grouped_t &grouped, const uint32_t *end, ptrdiff_t first,
                                           ptrdiff_t n) {
        if (width) row_bytes = width * max_bytes;
        const bool assigns = grouped.assigns, in_place = source == to;
        const ptrdiff_t source_ahead = grouped.source_ahead;
        const uint32_t *const order = grouped.order, *const order_end = order + grouped.n, *next = order + first;
        Run run = {grouped.updates, grouped.step, next, 0, 0, grouped.ahead, (bool)grouped.are_cached,
                   (bool)grouped.streams, 0};
        for (const uint32_t *const stop = end + n; end < stop; end++, to += row_bytes, source += source_step) {
            const char *start = source;
            run.order = next;
            next = order + *end;
            run.n = next - run.order;
            run.last = order_end - run.order;
            if (run.n == 0 && in_place) continue;
            if (divides) run.terms = run.n > 0 ? run.n + grouped.more : 0;
            for (ptrdiff_t i = 0; source_ahead && i < row_bytes; i += 64) GS_PREFETCH_L2(source + source_ahead + i);
            if (assigns && run.n > 0) {
                start = run.updates + *run.order * run.step;
                if (run.ahead < run.last) gs_prefetch_row_l2(run.updates + run.order[run.ahead] * run.step, row_bytes);
                run.order++;
                run.n--;
                run.last--;
            }
            if constexpr (width != 0) {
                reduce_part<max_bytes, width>(to, start, run, 0);
            } else {
                reduce_row(to, start, run, row_bytes);
            }
        }
    }

    template <bool divides>
    static void reduce_rows_by(char *to, const char *source, ptrdiff_t source_step, ptrdiff_t row_bytes,
                               const gs_grouped_t &grouped, const uint32_t *end, ptrdiff_t first, ptrdiff_t n) {
        // With many updates of each row, constant sizes were 1.05 times as slow.
        const bool are_few = end[n - 1] - first < 4 * n;
        if (are_few && row_bytes == 8 * max_bytes) {
            reduce_rows_of<8, divides>(to, source, source_step, row_bytes, grouped, end, first, n);
        } else if (are_few && row_bytes == 4 * max_bytes) {
            reduce_rows_of<4, divides>(to, source, source_step, row_bytes, grouped, end, first, n);
        } else {
            reduce_rows_of<0, divides>(to, source, source_step, row_bytes, grouped, end, first, n);
        }
    }

    static void reduce_rows(char *to, const char *source, ptrdiff_t source_step, ptrdiff_t row_bytes,
                            const gs_grouped_t &grouped, const uint32_t *end, ptrdiff_t first, ptrdiff_t n) {
        if constexpr (can_divide) {
            if (grouped.divides) {
                return reduce_rows_by<true>(to, source, source_step, row_bytes, grouped, end, first, n);
            }
        }
        reduce_rows_by<false>(to, source, source_step, row_bytes, grouped, end, first, n);
    }

    // size: of a row, if it is constant; else 0.
    template <int size, bool counts = false>
    static GS_ALWAYS_INLINE void reduce_each_of(char *out, const int64_t *offsets, const char *updates,
                                                const int64_t *update_offsets, ptrdiff_t step, ptrdiff_t n,
                                                ptrdiff_t row_bytes, const gs_ahead_t *ahead) {
        if constexpr (size % sizeof(Number) == 0) {
            if (size) row_bytes = size;
            for (ptrdiff_t i = 0; i < n; i++) {
                const char *update = updates + (update_offsets ? update_offsets[i] : i * step);
                if (ahead) prefetch_ahead<counts>(*ahead, out, offsets, updates, update_offsets, update, i, n, row_bytes);
                if (offsets[i] == INT64_MIN) continue;
                if constexpr (counts) (*count_of(*ahead, offsets[i]))++;
                reduce_row(out + offsets[i], out + offsets[i], single(update), row_bytes);
            }
        }
    }

    // The sizes of points and pixels are constants: choosing vectors would take longer than their use.
    static void reduce_each(char *out, const int64_t *offsets, const char *updates, const int64_t *update_offsets,
                            ptrdiff_t step, ptrdiff_t n, ptrdiff_t row_bytes, const gs_ahead_t *ahead) {
        if (ahead && ahead->counts) {
            if (row_bytes == 64) {
                return reduce_each_of<64, true>(out, offsets, updates, update_offsets, step, n, row_bytes, ahead);
            }
            return reduce_each_of<0, true>(out, offsets, updates, update_offsets, step, n, row_bytes, ahead);
        }
        switch (row_bytes) {
            case 2: return reduce_each_of<2>(out, offsets, updates, update_offsets, step, n, row_bytes, ahead);
            case 3: return reduce_each_of<3>(out, offsets, updates, update_offsets, step, n, row_bytes, ahead);
            case 4: return reduce_each_of<4>(out, offsets, updates, update_offsets, step, n, row_bytes, ahead);
            case 6: return reduce_each_of<6>(out, offsets, updates, update_offsets, step, n, row_bytes, ahead);
            case 8: return reduce_each_of<8>(out, offsets, updates, update_offsets, step, n, row_bytes, ahead);
            case 12: return reduce_each_of<12>(out, offsets, updates, update_offsets, step, n, row_bytes, ahead);
            case 16: return reduce_each_of<16>(out, offsets, updates, update_offsets, step, n, row_bytes, ahead);
            case 24: return reduce_each_of<24>(out, offsets, updates, update_offsets, step, n, row_bytes, ahead);
            case 32: return reduce_each_of<32>(out, offsets, updates, update_offsets, step, n, row_bytes, ahead);
            case 48: return reduce_each_of<48>(out, offsets, updates, update_offsets, step, n, row_bytes, ahead);
            case 64: return reduce_each_of<64>(out, offsets, updates, update_offsets, step, n, row_bytes, ahead);
            default: return reduce_each_of<0>(out, offsets, updates, update_offsets, step, n, row_bytes, ahead);
        }
    }
};

#if defined(__AVX2__)
constexpr int vector_bytes = 32;
#else
constexpr int vector_bytes = 16;
#endif

// Call `with` with the Rows of sums or products, or of maxima or minima, of a type. row_loop_of in apply.pxd knows which
// there are.
template <class Operation, class OfBool, class With>
void with_arithmetic(int type, With with) {
    switch (type) {
        case GS_BOOL: return with(Rows<OfBool, uint8_t, vector_bytes>());
        case GS_UINT8: return with(Rows<Operation, uint8_t, vector_bytes>());
        case GS_UINT16: return with(Rows<Operation, uint16_t, vector_bytes>());
        case GS_UINT32: return with(Rows<Operation, uint32_t, vector_bytes>());
        case GS_UINT64: return with(Rows<Operation, uint64_t, vector_bytes>());
#if defined(__F16C__)
        case GS_FLOAT16: return with(Rows<Float16<Operation>, uint16_t, 16>());
#endif
        case GS_BFLOAT16: return with(Rows<BFloat16<Operation>, uint16_t, vector_bytes>());
        case GS_FLOAT32: return with(Rows<Operation, float, vector_bytes>());
        case GS_FLOAT64: return with(Rows<Operation, double, vector_bytes>());
        default: return;
    }
}

template <class Operation, class OfFloat16, class OfBFloat16, class With>
void with_order(int type, With with) {
    switch (type) {
        case GS_INT8: return with(Rows<Operation, int8_t, vector_bytes>());
        case GS_INT16: return with(Rows<Operation, int16_t, vector_bytes>());
        case GS_INT32: return with(Rows<Operation, int32_t, vector_bytes>());
        case GS_INT64: return with(Rows<Operation, int64_t, vector_bytes>());
        case GS_UINT8: return with(Rows<Operation, uint8_t, vector_bytes>());
        case GS_UINT16: return with(Rows<Operation, uint16_t, vector_bytes>());
        case GS_UINT32: return with(Rows<Operation, uint32_t, vector_bytes>());
        case GS_UINT64: return with(Rows<Operation, uint64_t, vector_bytes>());
        case GS_FLOAT16: return with(Rows<OfFloat16, uint16_t, vector_bytes>());
        case GS_BFLOAT16: return with(Rows<OfBFloat16, uint16_t, vector_bytes>());
        case GS_FLOAT32: return with(Rows<Operation, float, vector_bytes>());
        case GS_FLOAT64: return with(Rows<Operation, double, vector_bytes>());
        default: return;
    }
}

template <class With>
void with_rows(int row_loop, With with) {
    const int type = row_loop % 16;
    switch (row_loop / 16) {
        case GS_ADD: return with_arithmetic<Add, Or>(type, with);
        case GS_MUL: return with_arithmetic<Multiply, And>(type, with);
        case GS_MAX: return with_order<Max, Order16<true, 0x7c00>, Order16<true, 0x7f80>>(type, with);
        case GS_MIN: return with_order<Min, Order16<false, 0x7c00>, Order16<false, 0x7f80>>(type, with);
        default: return;
    }
}

void reduce_rows(int row_loop, char *to, const char *source, ptrdiff_t source_step, ptrdiff_t row_bytes,
                 const gs_grouped_t *grouped, const uint32_t *end, ptrdiff_t first, ptrdiff_t n) {
    with_rows(row_loop, [=](auto rows) {
        rows.reduce_rows(to, source, source_step, row_bytes, *grouped, end, first, n);
    });
}

void reduce_each(int row_loop, char *out, const int64_t *offsets, const char *updates, const int64_t *update_offsets,
                 ptrdiff_t step, ptrdiff_t n, ptrdiff_t row_bytes, const gs_ahead_t *ahead) {
    with_rows(row_loop, [=](auto rows) {
        rows.reduce_each(out, offsets, updates, update_offsets, step, n, row_bytes, ahead);
    });
}

}  // namespace
