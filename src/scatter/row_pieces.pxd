# ROW_PIECES: rows are cut into pieces. Each thread resolves all tuples and applies its own piece of every row.
#
# For long rows, of which a piece is long enough to be read as a stream, and for rows whose elements are far apart, as
# in Fortran order.
from cython.parallel cimport prange
from libc.stdint cimport int64_t, uint64_t

from common.codes cimport ASSIGN, OK, TAKE
from common.items cimport CACHE_LINE
from common.resolve cimport SKIPPED, resolve_block
from common.rows cimport cut_length, cut_row
from common.threads cimport MAX_TASKS, chunk_start, first_error
from common.walk cimport Cursor, seek
from scatter.accumulate cimport accumulates_rows, finish_all, start_all
from scatter.apply cimport finish_step
from scatter.divide cimport divide_steps
from scatter.job cimport (
    SCRATCH_BYTES, Job, apply_tuples, begin_writing, copy_data, count_tuples, row_items,
)
from scatter.marks cimport Marks, add_marks, allocate_marks, free_marks
from scatter.reductions cimport Step, is_move

cdef enum:
    LONG_ROW = 1 << 12          # bytes
    TAKEN_ROW = 2 * CACHE_LINE  # bytes of a row that is moved to its update, which ROWS cannot do

cdef struct RowPieces:
    const Job* job
    Py_ssize_t row_length       # as cut_row cuts it
    Py_ssize_t piece_length
    Py_ssize_t n_pieces
    bint accumulates            # rows are accumulated as in accumulate.pxd; a piece's table counts a chunk of updates
    Marks marks                 # of all rows, for each piece


cdef inline bint describe_row_pieces(RowPieces* pieces, const Job* job, bint forced) noexcept nogil:
    """Describe the job for ROW_PIECES. False: it would be slower; with forced: it is impossible."""
    cdef Py_ssize_t least = TAKEN_ROW if job.step.reduction == TAKE else LONG_ROW
    pieces.job = job
    pieces.row_length = cut_length(&job.step.row)
    if pieces.row_length == 0 or (row_items(job) == 1 and not is_move(job.step.reduction)):  # never cut a single number
        return False
    if forced or job.n_threads == 1 or pieces.row_length < job.n_threads:
        return forced
    if not job.is_contiguous and job.step.row.outer.n >= 2 * job.n_threads:  # each piece is a cache line
        return True
    return <double>row_items(job) * job.step.row.item_bytes >= least


cdef inline void run_piece(const RowPieces* pieces, Py_ssize_t piece, Py_ssize_t* status) noexcept nogil:
    cdef const Job* job = pieces.job
    cdef Marks marks = pieces.marks
    cdef Step step
    cdef Py_ssize_t out_shift = 0, updates_shift = 0
    cdef Py_ssize_t start = piece * pieces.piece_length
    step.reduction = job.step.reduction
    step.type_code = job.step.type_code
    step.is_rare = False
    step.is_near = False
    step.swapped = job.step.swapped
    cut_row(&job.step.row, start, min(start + pieces.piece_length, pieces.row_length), &step.row, &out_shift,
            &updates_shift)
    finish_step(&step)
    step.by_value = False  # a piece of one element is still a row: destinations are row_bytes apart
    if marks.width:
        marks.table += piece * job.n_rows * marks.width
    if pieces.accumulates:
        apply_tuples(job, &step, NULL, job.out + out_shift, job.updates + updates_shift, 0, job.walk.n, status)
        count_tuples(job, &marks, chunk_start(job.walk.n, pieces.n_pieces, piece),
                     chunk_start(job.walk.n, pieces.n_pieces, piece + 1))
        return
    apply_tuples(job, &step, &marks, job.out + out_shift, job.updates + updates_shift, 0, job.walk.n, status)
    if job.divides and status[0] == OK:
        divide_steps(job, &step, &marks, job.out + out_shift, job.n_rows)


cdef inline bint run_row_pieces(RowPieces* pieces, Job* job, Py_ssize_t* bad) noexcept:
    """False: there is no memory, and nothing was written."""
    cdef Py_ssize_t status[MAX_TASKS]
    cdef Py_ssize_t piece, n_pieces = job.n_threads
    cdef Marks more
    if job.marks.width:  # a table for each piece
        n_pieces = min(n_pieces, 1 + SCRATCH_BYTES // max(job.n_rows * job.marks.width, <Py_ssize_t>1))
    pieces.piece_length = (pieces.row_length + n_pieces - 1) // n_pieces
    if pieces.piece_length > CACHE_LINE:
        pieces.piece_length = (pieces.piece_length + CACHE_LINE - 1) // CACHE_LINE * CACHE_LINE
    n_pieces = (pieces.row_length + pieces.piece_length - 1) // pieces.piece_length
    pieces.n_pieces = n_pieces
    pieces.accumulates = accumulates_rows(job)
    pieces.marks = job.marks
    pieces.marks.assigns = job.marks.assigns and not pieces.accumulates
    if job.marks.width and not allocate_marks(&pieces.marks, n_pieces * job.n_rows):
        return False
    bad[0] = begin_writing(job, job.checks_first)
    if bad[0] == OK:
        if pieces.accumulates:
            start_all(job, job.out)
        else:
            copy_data(job)
        for piece in prange(n_pieces, num_threads=job.n_threads, schedule="static", nogil=True):
            run_piece(pieces, piece, &status[piece])
        bad[0] = first_error(status, n_pieces)
        if pieces.accumulates and bad[0] == OK:
            more = pieces.marks
            for piece in range(1, n_pieces):
                more.table = pieces.marks.table + piece * job.n_rows * more.width
                add_marks(&pieces.marks, &more, job.n_rows)
            finish_all(job, &pieces.marks, job.out)
    free_marks(&pieces.marks)
    return True
