// A record is read, applied, and noted in one iteration, which the CPU overlaps with the next ones.
//
// Compiled for any CPU: one number at a time needs no vectors.
#include "scatter/loops/records.h"

#include <cstring>
#include <type_traits>

#include "common/compiler.h"
#include "scatter/loops/cells.hpp"
#include "scatter/loops/steps.hpp"
#include "scatter/loops/table.h"

namespace {

template <class Number>
using Greatest = Extreme<Number, true>;
template <class Number>
using Least = Extreme<Number, false>;

template <class Word>
struct Last {
    typedef Word Element;
    static GS_ALWAYS_INLINE Word reduce(Word, Word b) { return b; }
    static GS_ALWAYS_INLINE Word identity(Word b) { return b; }
};

template <class Number>
using WordOf = typename std::conditional<sizeof(Number) == 4, uint32_t, uint64_t>::type;

// Without a branch, which would be mispredicted.
template <class Number>
GS_ALWAYS_INLINE Number choose(bool chooses_a, Number a, Number b) {
    WordOf<Number> chosen, other;
    memcpy(&chosen, &a, sizeof a);
    memcpy(&other, &b, sizeof b);
    chosen = other ^ ((chosen ^ other) & -(WordOf<Number>)chooses_a);
    memcpy(&a, &chosen, sizeof a);
    return a;
}

template <class Operation, int marks>
void apply(char *tile, uint32_t *bits, const char *records, ptrdiff_t n) {
    typedef typename Operation::Element Element;
    constexpr uint32_t size = sizeof(Element);
    for (; n > 0; n--, records += sizeof(uint32_t) + size) {
        uint32_t position;
        Element a, b;
        memcpy(&position, records, sizeof position);
        memcpy(&b, records + sizeof position, sizeof b);
        char *to = tile + position;
        // A store that misses L1 waits in the store buffer, which is soon full. A load, or a prefetch, does not wait.
        if constexpr (std::is_same<Operation, Last<Element>>::value) GS_PREFETCH_WRITE(to);
        memcpy(&a, to, sizeof a);
        if constexpr (marks == GS_FIRST_BITS) {
            const bool is_first = !(bits[position / (32 * size)] >> position / size % 32 & 1);
            a = choose(is_first, Operation::identity(b), a);
        }
        a = Operation::reduce(a, b);
        memcpy(to, &a, sizeof a);
        if constexpr (marks == GS_BITS || marks == GS_FIRST_BITS) {
            bits[position / (32 * size)] |= (uint32_t)1 << position / size % 32;
        }
    }
}

// To cells.
template <class Step>
void reduce_and_count(char *cells, uint32_t *, const char *records, ptrdiff_t n) {
    typedef typename Step::Element Number;
    for (; n > 0; n--, records += sizeof(uint32_t) + sizeof(Number)) {
        uint32_t position;
        Number b;
        memcpy(&position, records, sizeof position);
        memcpy(&b, records + sizeof position, sizeof b);
        reduce_cell<Step>(cells + 2 * (size_t)position, b);
    }
}

void add_short(char *tile, uint32_t *, const char *records, ptrdiff_t n) {
    for (; n > 0; n--, records += sizeof(uint16_t) + sizeof(float)) {
        uint16_t item;
        float update;
        double sum;
        memcpy(&item, records, sizeof item);
        memcpy(&update, records + sizeof item, sizeof update);
        memcpy(&sum, tile + item * sizeof sum, sizeof sum);
        sum += update;
        memcpy(tile + item * sizeof sum, &sum, sizeof sum);
    }
}

template <template <class> class Operation, int marks>
gs_record_loop loop_of_type(int type) {
    switch (type) {
        case GS_INT32: return apply<Operation<int32_t>, marks>;
        case GS_INT64: return apply<Operation<int64_t>, marks>;
        case GS_UINT32: return apply<Operation<uint32_t>, marks>;
        case GS_UINT64: return apply<Operation<uint64_t>, marks>;
        case GS_FLOAT32: return apply<Operation<float>, marks>;
        case GS_FLOAT64: return apply<Operation<double>, marks>;
        default: return nullptr;
    }
}

// Sums and products of integers wrap around (-fwrapv).
template <int marks>
gs_record_loop loop_of(int reduction, int type) {
    switch (reduction) {
        case GS_ADD: return loop_of_type<Sum, marks>(type);
        case GS_MUL: return loop_of_type<Product, marks>(type);
        case GS_MAX: return loop_of_type<Greatest, marks>(type);
        case GS_MIN: return loop_of_type<Least, marks>(type);
        default: return nullptr;
    }
}

gs_record_loop counting_loop_of(int reduction, int type) {
    gs_record_loop loop = nullptr;
    with_cell_step(reduction, type, [&](auto step) { loop = reduce_and_count<decltype(step)>; });
    return loop;
}

}  // namespace

gs_record_loop gs_reduction_of_records(int reduction, int type, int marks) {
    switch (marks) {
        case GS_UNMARKED: return loop_of<GS_UNMARKED>(reduction, type);
        case GS_BITS: return loop_of<GS_BITS>(reduction, type);
        case GS_FIRST_BITS: return loop_of<GS_FIRST_BITS>(reduction, type);
        default: return counting_loop_of(reduction, type);
    }
}

gs_record_loop gs_assignment_of_records(ptrdiff_t bytes) {
    if (bytes == 4) return apply<Last<uint32_t>, GS_UNMARKED>;
    if (bytes == 8) return apply<Last<uint64_t>, GS_UNMARKED>;
    return nullptr;
}

gs_record_loop gs_short_sums(void) { return add_short; }
