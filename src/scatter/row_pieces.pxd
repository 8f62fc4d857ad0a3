# ROW_PIECES: rows are cut into pieces. Each thread resolves all tuples and applies its own piece of every row.
from cython.parallel cimport prange

from common.codes cimport ASSIGN
from common.items cimport CACHE_LINE
from common.rows cimport cut_length, cut_row
from common.threads cimport MAX_TASKS, first_error
from scatter.apply cimport finish_step
from scatter.job cimport Job, apply_tuples, copy_data, row_items
from scatter.reductions cimport Step

cdef enum:
    LONG_ROW = 1 << 12          # bytes

cdef struct RowPieces:
    const Job* job
    Py_ssize_t row_length       # as cut_row cuts it
    Py_ssize_t piece_length


cdef inline bint describe_row_pieces(RowPieces* pieces, const Job* job, bint forced) noexcept nogil:
    """Describe the job for ROW_PIECES. False: it would be slower; with forced: it is impossible."""
    pieces.job = job
    pieces.row_length = cut_length(&job.step.row)
    if pieces.row_length == 0 or (row_items(job) == 1 and job.step.reduction != ASSIGN):  # never cut a single number
        return False
    return forced or (job.n_threads > 1 and <double>row_items(job) * job.step.row.item_bytes >= LONG_ROW
                      and pieces.row_length >= job.n_threads)


cdef inline void run_piece(const RowPieces* pieces, Py_ssize_t piece, Py_ssize_t* status) noexcept nogil:
    cdef const Job* job = pieces.job
    cdef Step step
    cdef Py_ssize_t out_shift = 0, updates_shift = 0
    cdef Py_ssize_t start = piece * pieces.piece_length
    step.reduction = job.step.reduction
    step.type_code = job.step.type_code
    step.swapped = job.step.swapped
    cut_row(&job.step.row, start, min(start + pieces.piece_length, pieces.row_length), &step.row, &out_shift,
            &updates_shift)
    finish_step(&step)
    apply_tuples(job, &step, job.out + out_shift, job.updates + updates_shift, 0, job.walk.n, status)


cdef inline Py_ssize_t run_row_pieces(RowPieces* pieces, Job* job) noexcept:
    cdef Py_ssize_t status[MAX_TASKS]
    cdef Py_ssize_t piece, n_pieces
    copy_data(job)
    pieces.piece_length = (pieces.row_length + job.n_threads - 1) // job.n_threads
    if pieces.piece_length > CACHE_LINE:
        pieces.piece_length = (pieces.piece_length + CACHE_LINE - 1) // CACHE_LINE * CACHE_LINE
    n_pieces = (pieces.row_length + pieces.piece_length - 1) // pieces.piece_length
    for piece in prange(n_pieces, num_threads=job.n_threads, schedule="static", nogil=True):
        run_piece(pieces, piece, &status[piece])
    return first_error(status, n_pieces)
