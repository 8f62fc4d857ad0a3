# The numbers of the machine from which the cost of a call is estimated (scatter/cost.pxd, best_team in threads.pxd).
# The module common finds them; gatherscatter/machine.py shows and sets them. Times are in nanoseconds.
from libc.stdint cimport uintptr_t

cdef extern from "common/machine.h":
    ctypedef struct Machine "gs_machine_t":
        Py_ssize_t l2_bytes         # of a core
        Py_ssize_t l3_bytes         # that a core can use
        double bandwidth            # bytes a nanosecond that a core reads and writes,
        double bandwidth_growth     # and n cores as many times n to this power
        double step_l2              # to apply an update to an accumulator in L2,
        double step_l3              # in L3,
        double step_memory          # and in memory
        double resolve              # to resolve an index
        double place                # to place a record in its bucket
        double region               # to start a team of two threads and to wait for them,
        double region_thread        # and for each further thread
        double slice                # that a thread waits for its turn if there are more threads than CPUs
    ctypedef struct Shared "gs_shared_t":
        Machine machine
        int choice
        int calls
        int forced
        uintptr_t main_thread
        int n_own
        int spinning
    Shared* shared "gs_shared"
    object export_shared "gs_export_shared" ()
    int import_shared "gs_import_shared" () except -1
