# Orders of prepared indices (prepared/indices.py): updates grouped by destination row, for scatters of rows, and
# positions sorted by tile, for gathers of elements and points.
#
# An order is an argument of the calls of kernels with these indices (Orders in backends/kernels.py keeps it).
from cython.parallel cimport prange
from libc.stdint cimport INT32_MAX, UINT32_MAX, int32_t, int64_t, uint16_t, uint32_t
from libc.string cimport memset
cimport numpy as cnp

from common.codes cimport OK
from common.interrupts cimport WORK_STEP, Interrupts, arm, is_interrupted, raise_if_interrupted, with_interrupts
from common.threads cimport MAX_TASKS, chunk_start, team_size
from prepared.tile_order cimport (
    MAX_ORDER_TILES, TILE_SHIFT, TileOrder, begin_of_chunk, can_tile, describe_tiles, is_value, read_ns, scattered_ns,
    set_memory, tile_of, words_of,
)

cdef enum:
    PAIRS_SAMPLED = 512         # of successive indices: to decide for many calls takes some microseconds
    NEIGHBOURS = 1 << 10        # slices between two indices that are near each other: a few pages


cdef inline void group_range(const int32_t* rows, Py_ssize_t n, Py_ssize_t first, Py_ssize_t stop, uint32_t* ends,
                             uint32_t* updates, Interrupts* interrupts) noexcept nogil:
    """Group the updates of the rows from first to stop: a histogram, a prefix sum, and a second pass over all rows."""
    cdef Py_ssize_t i, start = 0, end
    cdef uint32_t begin = 0, count
    cdef int32_t low = <int32_t>first, high = <int32_t>(stop - 1)
    memset(ends + first, 0, (stop - first) * sizeof(uint32_t))
    while start < n:
        end = min(start + WORK_STEP, n)
        if is_interrupted(interrupts, 2 * WORK_STEP):
            return
        for i in range(start, end):
            begin += 0 <= rows[i] < low
            if low <= rows[i] <= high:
                ends[rows[i]] += 1
        start = end
    for i in range(first, stop):  # begins; the second pass makes them ends
        count = ends[i]
        ends[i] = begin
        begin += count
    start = 0
    while start < n:
        end = min(start + WORK_STEP, n)
        if is_interrupted(interrupts, 2 * WORK_STEP):
            return
        for i in range(start, end):
            if low <= rows[i] <= high:
                updates[ends[rows[i]]] = <uint32_t>i
                ends[rows[i]] += 1
        start = end


def group(cnp.ndarray rows not None, Py_ssize_t n_rows, empty, int n_threads):
    """Group updates by row, for all scatters with these indices. Returns (end, updates): see order.pxd.

    rows: the row of each update, or -1 for none; int32, contiguous. empty: makes an array of a shape and a dtype.
    """
    cdef cnp.ndarray memory
    cdef Interrupts interrupts
    cdef Py_ssize_t owner, n = cnp.PyArray_SIZE(rows)
    cdef int team = team_size(n_threads, <double>n)
    if (cnp.PyArray_TYPE(rows) != cnp.NPY_INT32 or not cnp.PyArray_ISCARRAY_RO(rows) or not 0 < n_rows <= INT32_MAX
            or <int64_t>n >= UINT32_MAX):
        raise ValueError("rows are contiguous, of dtype int32 and less than 2**32")
    memory = empty((n_rows + n,), cnp.PyArray_DescrFromType(cnp.NPY_UINT32))
    arm(&interrupts)
    for owner in prange(team, num_threads=team, schedule="static", nogil=True):
        group_range(<const int32_t*>cnp.PyArray_DATA(rows), n, chunk_start(n_rows, team, owner),
                    chunk_start(n_rows, team, owner + 1), <uint32_t*>cnp.PyArray_DATA(memory),
                    <uint32_t*>cnp.PyArray_DATA(memory) + n_rows, &interrupts)
    raise_if_interrupted(with_interrupts(&interrupts, OK))
    return memory[:n_rows], memory[n_rows:]


cdef inline uint32_t translate_chunk(const uint32_t* updates, const uint32_t* rows, uint32_t* translated,
                                     Py_ssize_t start, Py_ssize_t stop, Interrupts* interrupts) noexcept nogil:
    """Translate updates start to stop. Returns the greatest row."""
    cdef uint32_t most = 0
    cdef Py_ssize_t i
    while start < stop and not is_interrupted(interrupts, WORK_STEP):
        for i in range(start, min(start + WORK_STEP, stop)):
            translated[i] = rows[updates[i]]
            most = max(most, translated[i])
        start += WORK_STEP
    return most


def translate(cnp.ndarray end not None, cnp.ndarray updates not None, cnp.ndarray update_rows not None, empty,
              int n_threads):
    """Translate an order to rows of a source, for gather_scatter: (end, rows, n_source, updates). None: it has none.

    update_rows: the row of each update, of dtype int32, contiguous. empty: makes an array of a shape and a dtype.
    """
    cdef uint32_t most[MAX_TASKS]
    cdef const uint32_t* rows = <const uint32_t*>cnp.PyArray_DATA(update_rows)
    cdef uint32_t* to
    cdef cnp.ndarray translated
    cdef Interrupts interrupts
    cdef Py_ssize_t task, n
    cdef int team = team_size(n_threads, <double>cnp.PyArray_SIZE(update_rows))
    if (cnp.PyArray_SIZE(updates) != cnp.PyArray_SIZE(update_rows) or cnp.PyArray_TYPE(update_rows) != cnp.NPY_INT32
            or not cnp.PyArray_ISCARRAY_RO(update_rows)):
        return None
    n = (<const uint32_t*>cnp.PyArray_DATA(end))[cnp.PyArray_SIZE(end) - 1]  # without those that are skipped
    if n == 0:
        return None
    translated = empty((cnp.PyArray_SIZE(updates),), cnp.PyArray_DescrFromType(cnp.NPY_UINT32))
    to = <uint32_t*>cnp.PyArray_DATA(translated)
    arm(&interrupts)
    for task in prange(team, num_threads=team, schedule="static", nogil=True):
        most[task] = translate_chunk(<const uint32_t*>cnp.PyArray_DATA(updates), rows, to, chunk_start(n, team, task),
                                     chunk_start(n, team, task + 1), &interrupts)
    raise_if_interrupted(with_interrupts(&interrupts, OK))
    for task in range(1, team):
        most[0] = max(most[0], most[task])
    n_source = empty((1,), cnp.PyArray_DescrFromType(cnp.NPY_INTP))
    n_source[0] = <Py_ssize_t>most[0] + 1
    return end, translated, n_source, updates


def pays(Py_ssize_t n_slices, Py_ssize_t slice_bytes, Py_ssize_t n):
    """Whether gathers with a tile order are faster, if successive indices are far from each other."""
    return (can_tile(n_slices, n) and is_value(slice_bytes, n)
            and read_ns(n_slices, slice_bytes) < scattered_ns(n_slices, slice_bytes, n))


def is_scattered(cnp.ndarray indices not None):
    """Whether most of a sample of the indices are far from the next one: else the caches do without an order."""
    cdef const int32_t* slices = <const int32_t*>cnp.PyArray_DATA(indices)
    cdef Py_ssize_t i, k, n = cnp.PyArray_SIZE(indices), n_near = 0
    if n < 2:
        return False
    for k in range(PAIRS_SAMPLED):
        i = <Py_ssize_t>(<double>(n - 2) / PAIRS_SAMPLED * k)
        n_near += -<Py_ssize_t>NEIGHBOURS < <Py_ssize_t>slices[i + 1] - slices[i] < NEIGHBOURS
    return 2 * n_near < PAIRS_SAMPLED


cdef inline void sort_chunk(const TileOrder* order, const int32_t* slices, Py_ssize_t chunk, uint32_t* begins,
                            uint16_t* positions, uint16_t* places) noexcept nogil:
    cdef uint32_t ends[MAX_ORDER_TILES + 1]
    cdef int shift = order.shift
    cdef uint32_t n_tiles = <uint32_t>order.n_tiles, mask = (<uint32_t>1 << shift) - 1, tile, place, count
    cdef Py_ssize_t i, start = begin_of_chunk(order, chunk), stop = begin_of_chunk(order, chunk + 1)
    memset(ends, 0, (n_tiles + 1) * sizeof(uint32_t))
    for i in range(start, stop):
        ends[tile_of(slices[i], shift, n_tiles)] += 1
    place = <uint32_t>start
    for tile in range(n_tiles + 1):
        count = ends[tile]
        begins[tile * order.n_chunks + chunk] = ends[tile] = place
        place += count
    begins[(n_tiles + 1) * order.n_chunks + chunk] = place
    for i in range(start, stop):
        tile = tile_of(slices[i], shift, n_tiles)
        place = ends[tile]
        ends[tile] += 1
        positions[place] = <uint16_t>(<uint32_t>slices[i] & mask)
        places[i] = <uint16_t>(place - start)


def sort_by_tile(cnp.ndarray indices not None, Py_ssize_t n_slices, empty, int n_threads):
    """Sort the positions of indices by tile, for all calls with these indices. Returns the memory of a TileOrder.

    indices: of slices, or -1 for none; int32, contiguous. empty: makes an array of a shape and a dtype.
    """
    cdef TileOrder order
    cdef Interrupts interrupts
    cdef cnp.ndarray memory
    cdef Py_ssize_t chunk, n = cnp.PyArray_SIZE(indices)
    cdef int team = team_size(n_threads, <double>n)
    if (cnp.PyArray_TYPE(indices) != cnp.NPY_INT32 or not cnp.PyArray_ISCARRAY_RO(indices)
            or not can_tile(n_slices, n)):
        raise ValueError("indices are contiguous and of dtype int32; there are few enough slices")
    describe_tiles(&order, n_slices, n)
    memory = empty((words_of(&order),), cnp.PyArray_DescrFromType(cnp.NPY_UINT32))
    set_memory(&order, cnp.PyArray_BYTES(memory))
    arm(&interrupts)
    for chunk in prange(order.n_chunks, num_threads=team, schedule="dynamic", chunksize=1, nogil=True):
        if not is_interrupted(&interrupts, 1 << TILE_SHIFT):
            sort_chunk(&order, <const int32_t*>cnp.PyArray_DATA(indices), chunk, <uint32_t*>order.begins,
                       <uint16_t*>order.positions, <uint16_t*>order.places)
    raise_if_interrupted(with_interrupts(&interrupts, OK))
    return memory
