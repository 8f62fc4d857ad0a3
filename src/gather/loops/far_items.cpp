// A CPU overlaps a prefetch only with instructions that follow soon: it executes a few hundred ahead. So prefetches of
// later items alternate with loads of earlier ones; many prefetches in a row would delay what follows them.
//
// Compiled for any CPU: one item at a time needs no vectors.
#include "gather/loops/far_items.h"

#include <algorithm>
#include <cstring>

#include "common/compiler.h"

#if defined(__x86_64__)
  #include <emmintrin.h>
#endif

namespace {

template <ptrdiff_t n>
struct Bytes {
    char bytes[n];
};

// An item of `fixed_size` bytes is moved as a Word. If that is longer, the next item overwrites its end.
template <ptrdiff_t bytes, class WordOfItem>
struct Fixed {
    typedef WordOfItem Word;
    static constexpr ptrdiff_t fixed_size = bytes, longest = sizeof(Word);
    static constexpr bool is_whole = sizeof(Word) == bytes;
    static GS_ALWAYS_INLINE void load(Word *word, const char *from, ptrdiff_t) { memcpy(word, from, sizeof *word); }
    static GS_ALWAYS_INLINE void store(char *to, const Word *word, ptrdiff_t) { memcpy(to, word, sizeof *word); }
};

// An item of any size from one to two halves: they overlap.
template <ptrdiff_t half>
struct Halves {
    struct Word {
        Bytes<half> begin, end;
    };
    static constexpr ptrdiff_t fixed_size = 0, longest = 2 * half;
    static constexpr bool is_whole = true;
    static GS_ALWAYS_INLINE void load(Word *word, const char *from, ptrdiff_t size) {
        memcpy(&word->begin, from, half);
        memcpy(&word->end, from + size - half, half);
    }
    static GS_ALWAYS_INLINE void store(char *to, const Word *word, ptrdiff_t size) {
        memcpy(to, &word->begin, half);
        memcpy(to + size - half, &word->end, half);
    }
};

// What is prefetched: each item, into L2 or L1, or what the following items are of.
enum Prefetched { FAR_ITEMS, NEAR_ITEMS, NEXT_ROW };

// index_step: in indices. is_pair: two of them for each item. fills: indices out of bounds select items.fill.
template <class Item, class Index, bool is_pair, int index_step, bool fills>
struct FarItems {
    typedef typename Item::Word Word;
    static constexpr bool is_whole = Item::is_whole;
    static constexpr ptrdiff_t line = 64;
    static constexpr ptrdiff_t group = Item::longest < 4 ? 64 : 16;         // items: whole cache lines, where streamed
    static constexpr int n_loaded = is_pair || Item::longest > 32 ? 1 : 4;  // before they are stored: measured
    static constexpr ptrdiff_t farthest = 256;                              // items that are prefetched ahead
    static constexpr ptrdiff_t indices_ahead = 4096;                        // bytes
    static constexpr ptrdiff_t near_bytes = 1 << 19;

    gs_far_items_t items;

    GS_ALWAYS_INLINE ptrdiff_t size() const { return Item::fixed_size ? Item::fixed_size : items.item_bytes; }
    GS_ALWAYS_INLINE const Index *first(ptrdiff_t i) const { return (const Index *)items.first + i * index_step; }
    GS_ALWAYS_INLINE const Index *second(ptrdiff_t i) const { return (const Index *)items.second + i * index_step; }
    // Volatile: read once, so that the index that is checked is the one that is used.
    GS_ALWAYS_INLINE int64_t read_first(ptrdiff_t i) const { return *(const volatile Index *)first(i); }
    GS_ALWAYS_INLINE int64_t read_second(ptrdiff_t i) const { return is_pair ? *(const volatile Index *)second(i) : 0; }

    GS_ALWAYS_INLINE uintptr_t address_of(int64_t a, int64_t b) const {
        const uintptr_t row = (uintptr_t)items.data + (is_pair ? (uintptr_t)a * (uintptr_t)items.row : 0);
        return row + (uintptr_t)(is_pair ? b : a) * size();
    }
    // Of a prefetch: unchecked.
    GS_ALWAYS_INLINE uintptr_t item(ptrdiff_t i) const { return address_of(*first(i), is_pair ? *second(i) : 0); }
    GS_ALWAYS_INLINE bool is_outside(int64_t a, int64_t b) const {
        return ((uint64_t)a >= (uint64_t)items.size) | (is_pair && (uint64_t)b >= (uint64_t)items.row_size);
    }

    GS_ALWAYS_INLINE void stream_group(char *out, const char *from) const {
#if defined(__x86_64__)
        for (ptrdiff_t i = 0; i < group * size(); i += 16) {
            _mm_stream_si128((__m128i *)(out + i), _mm_load_si128((const __m128i *)(from + i)));
        }
#else
        memcpy(out, from, group * size());
#endif
    }

    // Items i to stop, one by one. False: the index of item i is out of bounds.
    GS_NOINLINE bool move_each(char *out, ptrdiff_t &i, ptrdiff_t stop) const {
        for (; i < stop; i++) {
            int64_t a = read_first(i), b = read_second(i);
            a += (a >> 63) & items.wrap;
            b += (b >> 63) & items.row_wrap;
            const bool outside = is_outside(a, b);
            if (outside && !fills) return false;
            memcpy(out + i * size(), outside ? items.fill : (const char *)address_of(a, b), size());
        }
        return true;
    }

    // From item i on whole groups, as long as indices are in bounds and not negative. Returns where it stopped. ahead: an
    // item is prefetched so many items before.
    template <Prefetched what>
    GS_NOINLINE ptrdiff_t move_groups(char *out, bool streams, ptrdiff_t ahead, ptrdiff_t i, ptrdiff_t n) const {
        const FarItems loop = *this;  // in registers: stores to `out` might change what is in memory
        return loop.template move_in_registers<what>(out, streams, ahead, i, n);
    }

    template <Prefetched what>
    GS_ALWAYS_INLINE ptrdiff_t move_in_registers(char *out, bool streams, ptrdiff_t ahead, ptrdiff_t i,
                                                 ptrdiff_t n) const {
        alignas(64) char scratch[group * Item::longest];
        const uintptr_t last = (uintptr_t)items.end - sizeof(Word);
        const int64_t sign = items.wrap ? INT64_MIN : 0;
        const ptrdiff_t next_step = what == NEXT_ROW ? (items.next_bytes / (n / group + 1) + line) & -line : 0;
        ptrdiff_t next_done = i / group * next_step;
        for (; i + group <= n; i += group) {
            char *to = streams ? scratch : out + i * size();
            for (ptrdiff_t j = 0; j < group * index_step * (ptrdiff_t)sizeof(Index); j += line) {
                GS_PREFETCH_L2((const char *)first(i + ahead) + indices_ahead + j);
                if (is_pair && index_step == 1) GS_PREFETCH_L2((const char *)second(i + ahead) + indices_ahead + j);
            }
            const ptrdiff_t next_stop = std::min(next_done + next_step, (ptrdiff_t)items.next_bytes);
            for (; next_done < next_stop; next_done += line) GS_PREFETCH_L2(items.next + next_done);
            for (ptrdiff_t j = 0; j < group; j += n_loaded) {
                uintptr_t from[n_loaded];
                Word word[n_loaded];
                bool is_bad = false;
                GS_UNROLL(4)
                for (int m = 0; m < n_loaded; m++) {
                    const char *next = what == NEXT_ROW ? nullptr : (const char *)item(i + j + m + ahead);
                    if (what == NEAR_ITEMS) GS_PREFETCH_L1(next);
                    if (what == FAR_ITEMS) GS_PREFETCH_L2(next);
                    // Its end may be in the next cache line.
                    if (what != NEXT_ROW && size() > 8) GS_PREFETCH_L2(next + size() - 1);
                    const int64_t a = read_first(i + j + m), b = read_second(i + j + m);
                    const bool outside = is_outside(a, b);
                    from[m] = address_of(a, b);
                    if (fills) {
                        // Without a branch, which would be mispredicted. A negative index may count from the end.
                        is_bad |= ((a & sign) != 0) | (!is_whole && !outside && from[m] > last);
                        from[m] ^= (from[m] ^ (uintptr_t)items.fill) & -(uintptr_t)outside;
                    } else {
                        is_bad |= outside | (!is_whole && from[m] > last);
                    }
                }
                if (is_bad) {
                    if (streams) memcpy(out + i * size(), scratch, j * size());
                    return i + j;
                }
                GS_UNROLL(4)
                for (int m = 0; m < n_loaded; m++) Item::load(&word[m], (const char *)from[m], size());
                GS_UNROLL(4)
                for (int m = 0; m < n_loaded; m++) Item::store(to + (j + m) * size(), &word[m], size());
            }
            if (streams) stream_group(out + i * size(), scratch);
        }
        return i;
    }

    // Whether items 0 to n are near one another, as those of a smooth warp of an image.
    bool are_near(ptrdiff_t n) const {
        uintptr_t low = item(0), high = low;
        for (ptrdiff_t i = 0; i < n; i++) {
            low = std::min(low, item(i));
            high = std::max(high, item(i));
        }
        return high - low < (uintptr_t)near_bytes;
    }

    static ptrdiff_t run(const gs_far_items_t *all, char *out, ptrdiff_t n) {
        const FarItems loop = {*all};
        ptrdiff_t i = 0, n_stops = 0;
        bool streams = all->streams && is_whole && group * loop.size() % line == 0;
        // The first group begins at a cache line.
        if (streams) while (i < group && ((uintptr_t)out + i * loop.size()) % line != 0) i++;
        streams = streams && i < group;
        const ptrdiff_t begin = streams ? i : 0, n_ahead = std::min(farthest, n);
        // The last item is moved alone if nothing overwrites what follows it.
        const ptrdiff_t n_grouped = is_whole ? n : n - 1;
        auto move_groups = &FarItems::template move_groups<NEXT_ROW>;
        if (!all->next) {
            move_groups = loop.are_near(n_ahead) ? &FarItems::template move_groups<NEAR_ITEMS>
                                                 : &FarItems::template move_groups<FAR_ITEMS>;
            for (ptrdiff_t j = 0; j < n_ahead; j++) GS_PREFETCH_L2((const char *)loop.item(j));
        }
        ptrdiff_t stop = std::min(begin, n);
        for (i = 0;;) {
            if (!loop.move_each(out, i, stop)) return i;
            if (i == n) return n;
            if (!all->next) i = (loop.*move_groups)(out, streams, farthest, i, n_grouped - farthest);
            // An index that stopped the loop within a group may be another one by now, of another thread.
            const bool ends_group = (i - begin) % group == 0;
            if (ends_group && (all->next || i + group > n_grouped - farthest)) {
                i = (loop.*move_groups)(out, streams, 0, i, n_grouped);
            }
            // Each such stop is a branch that was mispredicted.
            if (i + group <= n_grouped && ++n_stops > 16 + i / 512) return i;
            stop = std::min(i + group - (i - begin) % group, n);
        }
    }
};

template <class Item, class Index>
ptrdiff_t run_layouts(const gs_far_items_t *items, char *out, ptrdiff_t n) {
    if (items->fill) return FarItems<Item, Index, false, 1, true>::run(items, out, n);
    if (items->n_indices == 1) return FarItems<Item, Index, false, 1, false>::run(items, out, n);
    if (items->step == sizeof(Index)) return FarItems<Item, Index, true, 1, false>::run(items, out, n);
    return FarItems<Item, Index, true, 2, false>::run(items, out, n);
}

template <class Item>
ptrdiff_t run_widths(const gs_far_items_t *items, char *out, ptrdiff_t n) {
    return items->width == 8 ? run_layouts<Item, int64_t>(items, out, n) : run_layouts<Item, int32_t>(items, out, n);
}

template <ptrdiff_t size, class Word = Bytes<size>>
constexpr gs_far_loop fixed() {
    return run_widths<Fixed<size, Word>>;
}

}  // namespace

gs_far_loop gs_far_loop_of(ptrdiff_t item_bytes) {
    switch (item_bytes) {
        case 1: return fixed<1>();
        case 2: return fixed<2>();
        case 3: return fixed<3, uint32_t>();
        case 4: return fixed<4>();
        case 6: return fixed<6, uint64_t>();
        case 8: return fixed<8>();
        case 12: return fixed<12>();
        case 16: return fixed<16>();
    }
    if (item_bytes < 8 || item_bytes > 64) return nullptr;
    if (item_bytes <= 16) return run_widths<Halves<8>>;
    return item_bytes <= 32 ? run_widths<Halves<16>> : run_widths<Halves<32>>;
}
