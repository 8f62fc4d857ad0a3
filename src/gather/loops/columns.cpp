// Compiled for any CPU: instructions that gather vectors are slower than single loads on some.
#include "gather/loops/columns.h"

#include <cstring>

#include "common/compiler.h"

namespace {

constexpr ptrdiff_t row_bytes = 256;  // a constant, so that it is a shift

struct Word16 {
    uint64_t halves[2];
};

template <class Word, class Index>
ptrdiff_t move_row(const char *tile, int64_t size, const char *indices, char *out, ptrdiff_t n) {
    // Volatile: an index is read once, so that the one that is checked is the one that is used.
    const volatile Index *index = (const volatile Index *)indices;
    GS_UNROLL(8)
    for (ptrdiff_t j = 0; j < n; j++) {
        const int64_t row = index[j];
        Word item;
        if (GS_UNLIKELY((uint64_t)row >= (uint64_t)size)) return j;
        memcpy(&item, tile + row * row_bytes + j * (ptrdiff_t)sizeof item, sizeof item);
        memcpy(out + j * (ptrdiff_t)sizeof item, &item, sizeof item);
    }
    return n;
}

template <class Word>
gs_column_loop loop_of(int index_bytes) {
    return index_bytes == 8 ? move_row<Word, int64_t> : move_row<Word, int32_t>;
}

}  // namespace

gs_column_loop gs_column_loop_of(ptrdiff_t item_bytes, int index_bytes, ptrdiff_t tile_row_bytes) {
    if (tile_row_bytes != row_bytes) return nullptr;
    switch (item_bytes) {
        case 1: return loop_of<uint8_t>(index_bytes);
        case 2: return loop_of<uint16_t>(index_bytes);
        case 4: return loop_of<uint32_t>(index_bytes);
        case 8: return loop_of<uint64_t>(index_bytes);
        case 16: return loop_of<Word16>(index_bytes);
        default: return nullptr;
    }
}
