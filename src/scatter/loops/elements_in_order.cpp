// Updates are applied in groups of four. Between groups, later indices and updates are prefetched. From an index that is
// negative or out of bounds, a second loop applies a few. Where most groups have one destination, a group and those that
// follow it are reduced in registers.
//
// Compiled for any CPU: one number at a time needs no vectors.
#include "scatter/loops/elements_in_order.h"

#include <algorithm>
#include <cstring>

#include "common/compiler.h"
#include "scatter/loops/cells.hpp"
#include "scatter/loops/steps.hpp"
#include "scatter/loops/table.h"

#if GS_HAS_VECTORS
  #include "scatter/loops/operations.hpp"
#endif

namespace {

constexpr ptrdiff_t tile_row_bytes = 256;  // of a tile of columns, without counts

template <class Step>
struct Reduction {
    typedef typename Step::Element Element;
    static constexpr ptrdiff_t update_bytes = sizeof(Element);
    static constexpr ptrdiff_t pitch = sizeof(Element);  // bytes from a destination to the next
    static constexpr bool has_runs = true, may_be_far = false;
    static GS_ALWAYS_INLINE void apply(char *to, const char *update) {
        Element a, b;
        memcpy(&a, to, sizeof a);
        memcpy(&b, update, sizeof b);
        a = Step::reduce(a, b);
        memcpy(to, &a, sizeof a);
    }
    // Of updates for the same destination: in a register, a step does not wait for a store each time.
    typedef Element Register;
    static GS_ALWAYS_INLINE Register load(const char *from) {
        Element a;
        memcpy(&a, from, sizeof a);
        return a;
    }
    static GS_ALWAYS_INLINE void store(char *to, Register a) { memcpy(to, &a, sizeof a); }
    template <ptrdiff_t n>
    static GS_ALWAYS_INLINE Register reduce(Register a, const char *updates, ptrdiff_t step) {
        Element b;
        GS_UNROLL(16)
        for (ptrdiff_t j = 0; j < n; j++) {
            memcpy(&b, updates + j * step, sizeof b);
            a = Step::reduce(a, b);
        }
        return a;
    }
};

template <class Number>
using Addition = Reduction<Sum<Number>>;
template <class Number, bool greatest>
using Change = Reduction<Extreme<Number, greatest>>;

// Of cells. A run counts its updates apart, so that none waits for the count of the one before.
template <class Step>
struct CountedReduction {
    typedef typename Step::Element Number;
    typedef PlainCell<Step> Register;
    static constexpr ptrdiff_t update_bytes = sizeof(Number), pitch = sizeof(Register);
    static constexpr bool has_runs = true, may_be_far = false;
    static GS_ALWAYS_INLINE void apply(char *to, const char *update) {
        Number b;
        memcpy(&b, update, sizeof b);
        reduce_cell<Step>(to, b);
    }
    static GS_ALWAYS_INLINE Register load(const char *from) {
        Register a;
        memcpy(&a, from, sizeof a);
        return a;
    }
    static GS_ALWAYS_INLINE void store(char *to, Register a) { memcpy(to, &a, sizeof a); }
    template <ptrdiff_t n>
    static GS_ALWAYS_INLINE Register reduce(Register a, const char *updates, ptrdiff_t step) {
        a.number = Reduction<Step>::template reduce<n>(a.number, updates, step);
        a.count += n;
        return a;
    }
};

#if GS_HAS_VECTORS
// Counts updates, of which it reads nothing.
template <class Count>
struct Counting {
    typedef Count Register;
    static constexpr ptrdiff_t update_bytes = 0, pitch = sizeof(Count);
    static GS_ALWAYS_INLINE void apply(char *to, const char *) { store(to, load(to) + 1); }
    static GS_ALWAYS_INLINE Count load(const char *from) { return Addition<Count>::load(from); }
    static GS_ALWAYS_INLINE void store(char *to, Count a) { Addition<Count>::store(to, a); }
    template <ptrdiff_t n>
    static GS_ALWAYS_INLINE Count reduce(Count a, const char *, ptrdiff_t) { return a + (Count)n; }
};

// The first bytes of an element, and the others.
template <class First, class Second>
struct Both {
    static constexpr ptrdiff_t update_bytes = First::update_bytes + Second::update_bytes;
    static constexpr ptrdiff_t pitch = First::pitch + Second::pitch;
    static constexpr bool has_runs = true, may_be_far = true;
    static GS_ALWAYS_INLINE void apply(char *to, const char *update) {
        First::apply(to, update);
        Second::apply(to + First::pitch, update + First::update_bytes);
    }
    struct Register {
        typename First::Register first;
        typename Second::Register second;
    };
    static GS_ALWAYS_INLINE Register load(const char *from) {
        return {First::load(from), Second::load(from + First::pitch)};
    }
    static GS_ALWAYS_INLINE void store(char *to, Register a) {
        First::store(to, a.first);
        Second::store(to + First::pitch, a.second);
    }
    template <ptrdiff_t n>
    static GS_ALWAYS_INLINE Register reduce(Register a, const char *updates, ptrdiff_t step) {
        return {First::template reduce<n>(a.first, updates, step),
                Second::template reduce<n>(a.second, updates + First::update_bytes, step)};
    }
};

// Of points of two, three or four numbers.
template <class Number, int size>
struct VectorAddition : Addition<typename VectorOf<Number, size * (int)sizeof(Number)>::type> {
    static constexpr bool may_be_far = true;
};
template <class Number>
struct VectorAddition<Number, 3> : Both<VectorAddition<Number, 2>, Addition<Number>> {};

// The same to cells.
template <class Number, int size>
struct CountedVectorAddition : Both<VectorAddition<Number, size>, Counting<CountOf<Number>>> {};
template <class Number>
struct CountedVectorAddition<Number, 3> : Both<VectorAddition<Number, 2>, CountedReduction<Sum<Number>>> {};
#endif

// prefetches: a store to a line that is not in L1 waits in the store buffer, which is soon full. A prefetch does not wait.
template <class Word, bool prefetches>
struct Assignment {
    static constexpr ptrdiff_t update_bytes = sizeof(Word), pitch = sizeof(Word);
    static constexpr bool has_runs = false, may_be_far = false;
    static GS_ALWAYS_INLINE void apply(char *to, const char *update) {
        Word b;
        memcpy(&b, update, sizeof b);
        if (prefetches) GS_PREFETCH_WRITE(to);
        memcpy(to, &b, sizeof b);
    }
};

// Where an update rarely changes its destination: a store that is not executed delays no later load. The first NaN
// stays, and the first of equal numbers.
template <class Number, bool greatest>
struct RareChange {
    static constexpr ptrdiff_t update_bytes = sizeof(Number), pitch = sizeof(Number);
    static constexpr bool has_runs = false, may_be_far = false;
    static GS_ALWAYS_INLINE void apply(char *to, const char *update) {
        Number a, b;
        memcpy(&a, to, sizeof a);
        memcpy(&b, update, sizeof b);
        if (!((greatest ? a >= b : a <= b) || a != a)) memcpy(to, &b, sizeof b);
    }
};

// The same of 16-bit floats.
template <class Step>
struct RareChange16 {
    static constexpr ptrdiff_t update_bytes = 2, pitch = 2;
    static constexpr bool has_runs = false, may_be_far = false;
    static GS_ALWAYS_INLINE void apply(char *to, const char *update) {
        uint16_t a, b;
        memcpy(&a, to, sizeof a);
        memcpy(&b, update, sizeof b);
        if (Step::reduce(a, b) != a) memcpy(to, &b, sizeof b);
    }
};

// A call: inlined, it would take registers from the loop.
GS_NOINLINE int64_t clipped(int64_t index, int64_t size) {
    return index < 0 ? 0 : std::min(index, size - 1);
}

// index_step: in indices. is_pair: two of them for each element. step: of adjacent updates, in bytes; else 0.
template <class Operation, class Index, bool is_pair, int index_step, int step>
struct ElementsInOrder {
    static constexpr ptrdiff_t group = 4, ahead = 4096, few = 8, wide = 16, far_ahead = 24;

    // Volatile: it is read once, so that the index that is checked is the one that is used.
    static GS_ALWAYS_INLINE int64_t first(const gs_pairs_t &pairs, ptrdiff_t i) {
        return ((const volatile Index *)pairs.first)[i * index_step];
    }
    static GS_ALWAYS_INLINE int64_t second(const gs_pairs_t &pairs, ptrdiff_t i) {
        return is_pair ? ((const volatile Index *)pairs.second)[i * index_step] : 0;
    }
    // In `out`, if the indices are in bounds.
    static GS_ALWAYS_INLINE int64_t position(const gs_pairs_t &pairs, int64_t first, int64_t second) {
        return is_pair ? (int64_t)((uint64_t)first * (uint64_t)pairs.row) + second : first;
    }

    static GS_ALWAYS_INLINE bool is_outside(const gs_pairs_t &pairs, int64_t first, int64_t second) {
        return (uint64_t)first >= (uint64_t)pairs.size || (is_pair && (uint64_t)second >= (uint64_t)pairs.row_size);
    }

    static GS_ALWAYS_INLINE void apply(char *out, int64_t position, const char *update) {
        Operation::apply(out + position * Operation::pitch, update);
    }

    static GS_ALWAYS_INLINE bool is_one_destination(const gs_pairs_t &pairs, ptrdiff_t i, int64_t first_index,
                                                    int64_t second_index) {
        int64_t differs = 0;
        for (int j = 1; j < group; j++) {
            differs |= (first(pairs, i + j) ^ first_index) | (second(pairs, i + j) ^ second_index);
        }
        return differs == 0;
    }

    // The indices that are only compared need not be volatile.
    template <ptrdiff_t n>
    static GS_ALWAYS_INLINE bool is_one_of(const gs_pairs_t &pairs, ptrdiff_t i, int64_t first_index,
                                           int64_t second_index) {
        const Index *a = (const Index *)pairs.first + i * index_step, *b = (const Index *)pairs.second + i * index_step;
        Index differs = 0;
        for (int j = 0; j < n; j++) {
            differs |= a[j * index_step] ^ (Index)first_index;
            if (is_pair) differs |= b[j * index_step] ^ (Index)second_index;
        }
        return differs == 0;
    }

    // Whether most groups have one destination, as those of sorted indices of few destinations.
    static bool are_in_runs(const gs_pairs_t &pairs, ptrdiff_t n) {
        if (!Operation::has_runs || n < 64 * group) return false;
        int n_runs = 0;
        for (int sample = 0; sample < 16; sample++) {
            const ptrdiff_t i = n / 16 * sample;
            n_runs += is_one_destination(pairs, i, first(pairs, i), second(pairs, i));
        }
        return n_runs >= 14;
    }

    // What follows a group. A part of the prefetches is not carried out, so each cache line has several.
    static GS_ALWAYS_INLINE void prefetch(const gs_pairs_t &pairs, const char *updates, ptrdiff_t update_step,
                                          ptrdiff_t i) {
        GS_PREFETCH_L2((const char *)((const Index *)pairs.first + i * index_step) + ahead);
        if (is_pair && index_step == 1) GS_PREFETCH_L2((const char *)((const Index *)pairs.second + i) + ahead);
        GS_PREFETCH_L2(updates + i * update_step + ahead);
    }

    // Destinations of later groups. Any index will do for a prefetch.
    static GS_ALWAYS_INLINE void prefetch_destinations(const gs_pairs_t &pairs, const char *out, ptrdiff_t i) {
        GS_UNROLL(4)
        for (int j = 0; j < group; j++) {
            const int64_t to = position(pairs, first(pairs, i + j), second(pairs, i + j));
            GS_PREFETCH_WRITE((const char *)((uintptr_t)out + (uintptr_t)to * Operation::pitch));
        }
    }

    // From update i on, as long as all indices of a group are in bounds. Returns where it stopped.
    template <bool in_runs, bool is_far>
    static GS_NOINLINE ptrdiff_t run_groups(const gs_pairs_t *all, char *out, const char *updates, ptrdiff_t update_step,
                                            ptrdiff_t i, ptrdiff_t n) {
        const gs_pairs_t pairs = *all;
        if (step) update_step = step;
        for (; i + group <= n; i += group) {
            prefetch(pairs, updates, update_step, i);
            if (is_far && i + far_ahead + group <= n) prefetch_destinations(pairs, out, i + far_ahead);
            if constexpr (in_runs) {
                const int64_t a = first(pairs, i), b = second(pairs, i);
                if (is_one_destination(pairs, i, a, b)) {
                    if (is_outside(pairs, a, b)) return i;
                    char *to = out + position(pairs, a, b) * Operation::pitch;
                    typename Operation::Register sum = Operation::load(to);
                    sum = Operation::template reduce<group>(sum, updates + i * update_step, update_step);
                    i += group;
                    for (; i + wide <= n && is_one_of<wide>(pairs, i, a, b); i += wide) {
                        for (ptrdiff_t j = 0; j < wide; j += group) prefetch(pairs, updates, update_step, i + j);
                        sum = Operation::template reduce<wide>(sum, updates + i * update_step, update_step);
                    }
                    Operation::store(to, sum);
                    i -= group;
                    continue;
                }
            }
            GS_UNROLL(4)
            for (int j = 0; j < group; j++) {
                const int64_t a = first(pairs, i + j), b = second(pairs, i + j);
                if (is_outside(pairs, a, b)) return i + j;
                apply(out, position(pairs, a, b), updates + (i + j) * update_step);
            }
        }
        return i;
    }

    static GS_NOINLINE ptrdiff_t run(const gs_pairs_t *all, char *out, const char *updates, ptrdiff_t update_step,
                                     ptrdiff_t n) {
        const gs_pairs_t pairs = *all;
        if (step) update_step = step;
        const bool in_runs = are_in_runs(pairs, n);
        ptrdiff_t i = 0, stopped = -few, distance = few, n_changes = 0;
        while (i < n) {
            if (in_runs) i = run_groups<Operation::has_runs, false>(all, out, updates, update_step, i, n);
            else if (pairs.is_far) i = run_groups<false, Operation::may_be_far>(all, out, updates, update_step, i, n);
            else i = run_groups<false, false>(all, out, updates, update_step, i, n);
            // Each change of the distance between such indices is a branch that was mispredicted.
            if (i - stopped != distance) {
                if (++n_changes > 16 + i / 32) return i;
                distance = i - stopped;
            }
            stopped = i;
            for (const ptrdiff_t stop = std::min(i + few, n); i < stop; i++) {
                int64_t a = first(pairs, i), b = second(pairs, i);
                a += (a >> 63) & pairs.wrap;
                b += (b >> 63) & pairs.row_wrap;
                if (is_outside(pairs, a, b)) {
                    if (!pairs.skips && !pairs.clips) return i;
                    if (pairs.skips) continue;
                    a = clipped(a, pairs.size);
                    if (is_pair) b = clipped(b, pairs.row_size);
                }
                apply(out, position(pairs, a, b), updates + i * update_step);
            }
        }
        return n;
    }

    // Indices in bounds, few enough that the caller prefetches.
    static GS_NOINLINE ptrdiff_t run_positions(const Index *positions, char *out, const char *updates, ptrdiff_t n) {
        GS_UNROLL(4)
        for (ptrdiff_t i = 0; i < n; i++) apply(out, positions[i], updates + i * step);
        return n;
    }

    // n: a multiple of pairs.repeats, which is n_shared; 0: any. Of a constant number, each has instructions of its own:
    // a CPU predicts for each whether its load depends on a recent store, as where triangles share their corners.
    template <int n_shared>
    static GS_NOINLINE ptrdiff_t run_repeated(const gs_pairs_t *all, char *out, const char *updates, ptrdiff_t update_step,
                                              ptrdiff_t n) {
        const gs_pairs_t pairs = *all;
        for (ptrdiff_t i = 0; i < n; updates += update_step) {
            GS_PREFETCH_L2((const char *)((const Index *)pairs.first + i) + ahead);
            GS_PREFETCH_L2(updates + ahead);
            if constexpr (n_shared > 0) {
                int64_t a[n_shared];
                bool is_bad = false;
                GS_UNROLL(4)
                for (int j = 0; j < n_shared; j++) {
                    a[j] = first(pairs, i + j);
                    is_bad |= is_outside(pairs, a[j], 0);
                }
                if (!is_bad) {
                    GS_UNROLL(4)
                    for (int j = 0; j < n_shared; j++) Operation::apply(out + a[j] * Operation::pitch, updates);
                    i += n_shared;
                    continue;
                }
            }
            for (const ptrdiff_t stop = i + pairs.repeats; i < stop; i++) {
                int64_t a = first(pairs, i);
                a += (a >> 63) & pairs.wrap;
                if (is_outside(pairs, a, 0)) return i;
                Operation::apply(out + a * Operation::pitch, updates);
            }
        }
        return n;
    }
};

template <class Operation, class Index, bool is_pair, int index_step>
ptrdiff_t run_steps(const gs_pairs_t *pairs, char *out, const char *updates, ptrdiff_t step, ptrdiff_t n) {
    constexpr int adjacent = Operation::update_bytes;
    if (step == adjacent) {
        return ElementsInOrder<Operation, Index, is_pair, index_step, adjacent>::run(pairs, out, updates, step, n);
    }
    return ElementsInOrder<Operation, Index, is_pair, index_step, 0>::run(pairs, out, updates, step, n);
}

// Of updates that are not shared.
template <class Operation, class Index>
ptrdiff_t run_single(const gs_pairs_t *pairs, char *out, const char *updates, ptrdiff_t step, ptrdiff_t n) {
    if (!pairs->second) return run_steps<Operation, Index, false, 1>(pairs, out, updates, step, n);
    if (pairs->step == sizeof(Index)) return run_steps<Operation, Index, true, 1>(pairs, out, updates, step, n);
    return run_steps<Operation, Index, true, 2>(pairs, out, updates, step, n);
}

template <class Operation, class Index>
ptrdiff_t run_layouts(const gs_pairs_t *pairs, char *out, const char *updates, ptrdiff_t step, ptrdiff_t n) {
    typedef ElementsInOrder<Operation, Index, false, 1, 0> Repeated;
    switch (pairs->repeats) {
        case 0:
        case 1: break;
        case 2: return Repeated::template run_repeated<2>(pairs, out, updates, step, n);
        case 3: return Repeated::template run_repeated<3>(pairs, out, updates, step, n);
        case 4: return Repeated::template run_repeated<4>(pairs, out, updates, step, n);
        default: return Repeated::template run_repeated<0>(pairs, out, updates, step, n);
    }
    return run_single<Operation, Index>(pairs, out, updates, step, n);
}

// A row of updates of a tile of columns (columns.pxd).
template <class Operation, class Index>
ptrdiff_t run_columns(const gs_pairs_t *pairs, char *tile, const char *updates, ptrdiff_t n) {
    constexpr ptrdiff_t size = Operation::update_bytes, columns = tile_row_bytes / size;
    const volatile Index *indices = (const volatile Index *)pairs->first;
    if (columns != pairs->columns) return 0;
    GS_UNROLL(4)
    for (ptrdiff_t i = 0; i < n; i++) {
        const int64_t row = indices[i];
        if (GS_UNLIKELY((uint64_t)row >= (uint64_t)pairs->size)) return i;
        Operation::apply(tile + (row * columns + i) * Operation::pitch, updates + i * size);
    }
    return n;
}

template <class Operation>
ptrdiff_t run_widths(const gs_pairs_t *pairs, char *out, const char *updates, ptrdiff_t step, ptrdiff_t n) {
    if (pairs->columns) {
        return pairs->width == 8 ? run_columns<Operation, int64_t>(pairs, out, updates, n)
                                 : run_columns<Operation, int32_t>(pairs, out, updates, n);
    }
    if (pairs->width == 8) return run_layouts<Operation, int64_t>(pairs, out, updates, step, n);
    if (pairs->width == 2) {
        constexpr int adjacent = Operation::update_bytes;
        return ElementsInOrder<Operation, uint16_t, false, 1, adjacent>::run_positions((const uint16_t *)pairs->first, out,
                                                                                       updates, n);
    }
    return run_layouts<Operation, int32_t>(pairs, out, updates, step, n);
}

template <class Operation>
ptrdiff_t run_counted(const gs_pairs_t *pairs, char *out, const char *updates, ptrdiff_t step, ptrdiff_t n) {
    if (pairs->columns) {
        return pairs->width == 8 ? run_columns<Operation, int64_t>(pairs, out, updates, n)
                                 : run_columns<Operation, int32_t>(pairs, out, updates, n);
    }
    return pairs->width == 8 ? run_single<Operation, int64_t>(pairs, out, updates, step, n)
                             : run_single<Operation, int32_t>(pairs, out, updates, step, n);
}

typedef ptrdiff_t Loop(const gs_pairs_t *pairs, char *out, const char *updates, ptrdiff_t step, ptrdiff_t n);

// Sums and products of integers are those of unsigned ones, which wrap around.
Loop *sum_of(int type, int size) {
    switch (type) {
        case GS_INT32:
        case GS_UINT32: return size == 1 ? run_widths<Addition<uint32_t>> : nullptr;
        case GS_INT64:
        case GS_UINT64: return size == 1 ? run_widths<Addition<uint64_t>> : nullptr;
        case GS_FLOAT32:
            switch (size) {
                case 1: return run_widths<Addition<float>>;
#if GS_HAS_VECTORS
                case 2: return run_widths<VectorAddition<float, 2>>;
                case 3: return run_widths<VectorAddition<float, 3>>;
                case 4: return run_widths<VectorAddition<float, 4>>;
#endif
                default: return nullptr;
            }
        case GS_FLOAT64:
            switch (size) {
                case 1: return run_widths<Addition<double>>;
#if GS_HAS_VECTORS
                case 2: return run_widths<VectorAddition<double, 2>>;
                case 3: return run_widths<VectorAddition<double, 3>>;
#endif
                default: return nullptr;
            }
#if GS_HAS_VECTORS
        case GS_COMPLEX64: return size == 1 ? run_widths<VectorAddition<float, 2>> : nullptr;
        case GS_COMPLEX128: return size == 1 ? run_widths<VectorAddition<double, 2>> : nullptr;
#endif
        default: return nullptr;
    }
}

#if GS_HAS_VECTORS
template <class Number>
Loop *counted_points(int size) {
    switch (size) {
        case 2: return run_counted<CountedVectorAddition<Number, 2>>;
        case 3: return run_counted<CountedVectorAddition<Number, 3>>;
        case 4: return sizeof(Number) == 4 ? run_counted<CountedVectorAddition<float, 4>> : nullptr;
        default: return nullptr;
    }
}
#endif

Loop *counted_of(int reduction, int type, int size) {
    Loop *loop = nullptr;
    if (size == 1) {
        with_cell_step(reduction, type, [&](auto step) { loop = run_counted<CountedReduction<decltype(step)>>; });
    }
#if GS_HAS_VECTORS
    if (size > 1 && reduction == GS_ADD && type == GS_FLOAT32) return counted_points<float>(size);
    if (size > 1 && reduction == GS_ADD && type == GS_FLOAT64) return counted_points<double>(size);
#endif
    return loop;
}

template <template <class, bool> class Operation, bool greatest>
Loop *change_of(int type) {
    switch (type) {
        case GS_INT32: return run_widths<Operation<int32_t, greatest>>;
        case GS_INT64: return run_widths<Operation<int64_t, greatest>>;
        case GS_FLOAT32: return run_widths<Operation<float, greatest>>;
        case GS_FLOAT64: return run_widths<Operation<double, greatest>>;
        default: return nullptr;
    }
}

Loop *product_of(int type, int size) {
    if (size != 1) return nullptr;
    switch (type) {
        case GS_INT32:
        case GS_UINT32: return run_widths<Reduction<Product<uint32_t>>>;
        case GS_INT64:
        case GS_UINT64: return run_widths<Reduction<Product<uint64_t>>>;
        case GS_FLOAT32: return run_widths<Reduction<Product<float>>>;
        case GS_FLOAT64: return run_widths<Reduction<Product<double>>>;
        default: return nullptr;
    }
}

template <class Step>
Loop *change16_of(int is_rare) {
    return is_rare ? run_widths<RareChange16<Step>> : run_widths<Reduction<Step>>;
}

template <bool greatest>
Loop *extreme_of(int type, int size, int is_rare) {
    if (size != 1) return nullptr;
    if (type == GS_FLOAT16) return change16_of<ExtremeFloat16<greatest>>(is_rare);
    if (type == GS_BFLOAT16) return change16_of<ExtremeBFloat16<greatest>>(is_rare);
    return is_rare ? change_of<RareChange, greatest>(type) : change_of<Change, greatest>(type);
}

Loop *loop_of(int reduction, int type, int size, int is_rare) {
    switch (reduction) {
        case GS_ADD: return sum_of(type, size);
        case GS_MUL: return product_of(type, size);
        case GS_MAX: return extreme_of<true>(type, size, is_rare);
        case GS_MIN: return extreme_of<false>(type, size, is_rare);
        default: return nullptr;
    }
}

template <bool prefetches>
Loop *assignment_of(ptrdiff_t bytes) {
    switch (bytes) {
        case 1: return run_widths<Assignment<uint8_t, prefetches>>;
        case 4: return run_widths<Assignment<uint32_t, prefetches>>;
        case 8: return run_widths<Assignment<uint64_t, prefetches>>;
        default: return nullptr;
    }
}

}  // namespace

gs_loop_in_order gs_reduction_in_order(int reduction, int type, int size, int is_rare) {
    return loop_of(reduction, type, size, is_rare);
}

gs_loop_in_order gs_counted_in_order(int reduction, int type, int size) { return counted_of(reduction, type, size); }

gs_loop_in_order gs_assignment_in_order(ptrdiff_t bytes, int is_near) {
    return is_near ? assignment_of<false>(bytes) : assignment_of<true>(bytes);
}
