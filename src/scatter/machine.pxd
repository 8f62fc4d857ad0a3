# What the cost model knows of the machine. gatherscatter/machine.py finds, shows and sets it.
cdef extern from "scatter/machine.h":
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
    Machine machine "gs_machine"
