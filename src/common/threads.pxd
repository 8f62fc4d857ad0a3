# A shim for OpenMP, which a serial build lacks, and the size of the thread team for an amount of work.
#
# A parallel region ends when its last thread does. On a busy machine that thread may wait milliseconds for a CPU, even
# if there is little work. So a team uses only CPUs that other processes leave free, and calls that run at once on
# several Python threads share the CPUs (both on Linux; OMP_DYNAMIC=false turns them off).
#
# OpenMP ends the process if it cannot create a thread. So from time to time, threads are created and joined as a test,
# and a team gets at most as many threads as could be created.
from common.codes cimport OK

cdef extern from *:
    """
    #ifdef _OPENMP
      #include <omp.h>
      #define GS_OPENMP _OPENMP
      static int gs_max_threads(void) { return omp_get_max_threads(); }
    #else
      #define GS_OPENMP 0
      static int gs_max_threads(void) { return 1; }
    #endif

    #if defined(__linux__) && defined(__GNUC__)
      #include <fcntl.h>
      #include <sched.h>
      #include <stdint.h>
      #include <stdio.h>
      #include <stdlib.h>
      #include <string.h>
      #include <strings.h>
      #include <sys/syscall.h>
      #include <time.h>
      #include <unistd.h>
      #define GS_LOAD(x) __atomic_load_n(&(x), __ATOMIC_RELAXED)
      #define GS_STORE(x, value) __atomic_store_n(&(x), (value), __ATOMIC_RELAXED)
      static int64_t gs_clock_ns(clockid_t clock) {
          struct timespec now;
          return clock_gettime(clock, &now) ? 0 : (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
      }
      /* The begin of a file as a string, empty if it cannot be read. The file is opened anew each time, since a program
         may close a descriptor that it does not know, or reuse its number. */
      static void gs_read_begin(const char *path, char *text, size_t size) {
          ssize_t n = -1;
          int file = open(path, O_RDONLY | O_CLOEXEC);
          if (file >= 0) {
              n = read(file, text, size - 1);
              close(file);
          }
          text[n > 0 ? n : 0] = 0;
      }
      /* The CPUs that the calling thread may use: all, if OpenMP binds the threads of a team to CPUs itself. */
      static int gs_own_cpus(void) {
          static int online = 0, is_bound = -1;
          if (is_bound < 0) {
              const char *bind = getenv("OMP_PROC_BIND");
              online = (int)sysconf(_SC_NPROCESSORS_ONLN);
              is_bound = (bind && strcasecmp(bind, "false")) || getenv("GOMP_CPU_AFFINITY") || getenv("KMP_AFFINITY");
          }
      #ifdef CPU_COUNT
          cpu_set_t set;
          if (!is_bound && !sched_getaffinity(0, sizeof set, &set)) return CPU_COUNT(&set);
      #endif
          return online;
      }
      /* The runnable threads of the machine: the fourth field of /proc/loadavg is "runnable/all". 0: unknown. */
      static int gs_runnable_threads(void) {
          char text[128];
          int runnable = 0;
          gs_read_begin("/proc/loadavg", text, sizeof text);
          return sscanf(text, "%*s %*s %*s %d", &runnable) == 1 ? runnable : 0;
      }
      /* Whether other processes kept half a CPU busy, or more, since the last such reading: /proc/stat has the time of
         all, in ticks. */
      static int gs_others_were_busy(int64_t now) {
          enum { WINDOW_NS = 100000000 };  /* ten ticks */
          static int64_t read_at = 0, last_busy = 0, last_own = 0;
          static int verdict = 1;
          int64_t elapsed = now - GS_LOAD(read_at), busy, own;
          unsigned long long user, nice, system, interrupts, soft_interrupts;
          char text[256];
          if (elapsed < WINDOW_NS) return GS_LOAD(verdict);
          gs_read_begin("/proc/stat", text, sizeof text);
          if (sscanf(text, "cpu %llu %llu %llu %*u %*u %llu %llu", &user, &nice, &system, &interrupts,
                     &soft_interrupts) != 5) return 1;
          busy = (int64_t)(user + nice + system + interrupts + soft_interrupts) * (1000000000 / sysconf(_SC_CLK_TCK));
          own = gs_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
          if (GS_LOAD(read_at)) {
              GS_STORE(verdict, 2 * (busy - GS_LOAD(last_busy) - (own - GS_LOAD(last_own))) > elapsed);
          }
          GS_STORE(last_busy, busy);
          GS_STORE(last_own, own);
          GS_STORE(read_at, now);
          return GS_LOAD(verdict);
      }
      static int gs_is_dynamic(void) {
          static int known = -1;
          if (known < 0) {
              const char *dynamic = getenv("OMP_DYNAMIC");
              known = !(dynamic && (!strcasecmp(dynamic, "false") || !strcmp(dynamic, "0")));
          }
          return known;
      }
      /* How many CPUs of a team of this size other processes leave to this one.

         Threads of this process are no load, such as OpenMP's that spin for some milliseconds after a region: those of
         the last team, and as many as the process kept busy on average (its CPU time by the time on the clock). */
      static int gs_free_cpus(int team) {
          enum { MAX_AGE_NS = 500000, SPIN_NS = 10000000, WINDOW_NS = 20000000 };
          static int64_t read_at = 0, window_start = 0, window_cpu_time = 0, team_at = 0;
          static int others = 0, busy = 1, last_team = 1, n_cpus = 0, n_own = 0;
          int64_t now, elapsed;
          int runnable, own, reading, n_others, free_cpus;
          if (!gs_is_dynamic()) return team;
          if (!n_cpus) n_cpus = (int)sysconf(_SC_NPROCESSORS_ONLN);
          now = gs_clock_ns(CLOCK_MONOTONIC);
          if (!GS_LOAD(read_at)) gs_others_were_busy(now);  /* the first window begins */
          n_others = GS_LOAD(others);
          if (now - GS_LOAD(read_at) >= MAX_AGE_NS) {
              elapsed = now - GS_LOAD(window_start);
              if (elapsed >= WINDOW_NS) {
                  int64_t cpu_time = gs_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
                  GS_STORE(busy, (int)((cpu_time - GS_LOAD(window_cpu_time) + elapsed / 2) / elapsed));
                  GS_STORE(window_cpu_time, cpu_time);
                  GS_STORE(window_start, now);
              }
              own = GS_LOAD(busy) > 1 ? GS_LOAD(busy) : 1;
              if (now - GS_LOAD(team_at) < SPIN_NS && GS_LOAD(last_team) > own) own = GS_LOAD(last_team);
              runnable = gs_runnable_threads();
              reading = runnable > own ? runnable - own : 0;
              /* Not a thread that merely woke up, nor one of another library in this process. */
              n_others = reading && gs_others_were_busy(now) ? reading : 0;
              GS_STORE(others, n_others);
              GS_STORE(n_own, gs_own_cpus());
              GS_STORE(read_at, now);
          }
          free_cpus = n_cpus - n_others;
          if (GS_LOAD(n_own) < free_cpus) free_cpus = GS_LOAD(n_own);
          if (free_cpus < team) team = free_cpus;
          if (team > 1) {
              GS_STORE(last_team, team);
              GS_STORE(team_at, now);
          }
          return team;
      }
      /* Calls that run at once on several Python threads, as of a thread pool, share the CPUs. OpenMP has a team for
         each thread that calls it. While all teams together have more threads than there are CPUs, threads that wait
         for work sleep instead of spinning, and every small call of the process takes the time to wake them.

         So a thread remembers for some seconds how many calls ran at the same time as one of its own. Except for the
         main thread, it begins without a team, until it is known whether it is one of a pool. */
      static int gs_calls = 0;  /* that run now */
      static __thread int gs_most_calls = 0;  /* that ran at once */
      static __thread int64_t gs_most_at = 0;
      static void gs_note_calls(int n, int64_t now) {
          enum { VALID_S = 5 };
          if (n >= gs_most_calls || now - gs_most_at > VALID_S * (int64_t)1000000000) {
              gs_most_calls = n;
              gs_most_at = now;
          }
      }
      /* The limit of the threads of a call that begins now; 0: OpenMP's choice. */
      static int gs_begin_call(int limit) {
          enum { NEW_NS = 100000000 };
          static __thread int64_t known_since = 0;
          int64_t now = gs_clock_ns(CLOCK_MONOTONIC);
          int most = limit > 0 ? limit : gs_max_threads();
          gs_note_calls(__atomic_add_fetch(&gs_calls, 1, __ATOMIC_RELAXED), now);
          if (!gs_is_dynamic()) return limit;
          if (!known_since) known_since = syscall(SYS_gettid) == getpid() ? now - NEW_NS : now;
          if (now - known_since < NEW_NS) return 1;
          if (gs_most_calls == 1) return limit;
          return gs_most_calls < most ? most / gs_most_calls : 1;
      }
      static void gs_end_call(void) {
          int n = __atomic_fetch_sub(&gs_calls, 1, __ATOMIC_RELAXED);
          if (n > 1) gs_note_calls(n, gs_clock_ns(CLOCK_MONOTONIC));
      }
    #else
      static int gs_free_cpus(int team) { return team; }
      static int gs_begin_call(int limit) { return limit; }
      static void gs_end_call(void) {}
    #endif

    #if defined(_OPENMP) && !defined(_WIN32)
      #include <ctype.h>
      #include <limits.h>
      #include <pthread.h>
      #include <stdint.h>
      #include <stdlib.h>
      #include <time.h>
      /* The size of OpenMP's stacks in bytes; 0: the system's default. */
      static size_t gs_stack_bytes(void) {
          static size_t known = 1;  /* not read yet */
          if (known == 1) {
              const char *text = getenv("OMP_STACKSIZE");
              size_t bytes = 0;
              int shift = 10;
              char *end;
              if (!text) text = getenv("GOMP_STACKSIZE");
              if (text) {
                  unsigned long long n = strtoull(text, &end, 10);
                  while (isspace((unsigned char)*end)) end++;
                  switch (tolower((unsigned char)*end)) {
                      case 'b': shift = 0; break;
                      case 'm': shift = 20; break;
                      case 'g': shift = 30; break;
                      case 't': shift = 40; break;
                  }
                  if (end != text && n <= SIZE_MAX >> shift) bytes = (size_t)n << shift;
              }
              known = bytes;
          }
          return known;
      }
      static void *gs_wait(void *gate) {
          pthread_mutex_lock((pthread_mutex_t *)gate);
          pthread_mutex_unlock((pthread_mutex_t *)gate);
          return NULL;
      }
      /* How many threads of n can be created at once. They end before this function does. */
      static int gs_try_threads(int n) {
          pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
          pthread_attr_t attributes;
          pthread_t *threads = (pthread_t *)malloc(n * sizeof(pthread_t));
          int created = 0, i;
          if (!threads) return 0;
          if (pthread_attr_init(&attributes)) {
              free(threads);
              return 0;
          }
          if (gs_stack_bytes()) pthread_attr_setstacksize(&attributes, gs_stack_bytes());
          pthread_mutex_lock(&gate);
          while (created < n && !pthread_create(&threads[created], &attributes, gs_wait, &gate)) created++;
          pthread_mutex_unlock(&gate);
          for (i = 0; i < created; i++) pthread_join(threads[i], NULL);
          pthread_attr_destroy(&attributes);
          free(threads);
          return created;
      }
      /* How many threads a team of this size can have. OpenMP keeps the threads of the calling thread's last team, but
         who made that, and how large it was, is not known here. So there is a trial every two seconds. */
      static int gs_possible_threads(int team) {
          enum { MIN_STACK = 1 << 17, VALID_SECONDS = 2 };
          static __thread int tried = 0, possible = 0;
          static __thread time_t tried_at = 0;
          struct timespec now;
          if (gs_stack_bytes() && gs_stack_bytes() < MIN_STACK) return 1;  /* the kernels need more */
          clock_gettime(CLOCK_MONOTONIC, &now);
          if (team > tried || now.tv_sec - tried_at >= VALID_SECONDS) {
              tried = team;
              tried_at = now.tv_sec;
              possible = gs_try_threads(team - 1) + 1;
              if (possible < team) possible--;  /* leave one to others */
          }
          if (possible < team) team = possible;
          return team > 1 ? team : 1;
      }
    #else
      static int gs_possible_threads(int team) { return team; }
    #endif

    /* OpenMP's choice when the user's limit was set. A lower one that is set later, as by threadpoolctl, holds too. */
    static int gs_choice = 0;
    static void gs_remember_choice(void) { gs_choice = gs_max_threads(); }
    static int gs_lowered(int limit) {
        int now = gs_max_threads();
        return now < limit && now < gs_choice ? now : limit;
    }
    """
    enum:
        OPENMP_VERSION "GS_OPENMP"  # as yyyymm; 0 for a serial build
    int omp_max_threads "gs_max_threads" () nogil
    int free_cpus "gs_free_cpus" (int team) nogil
    int begin_call "gs_begin_call" (int limit) nogil
    void end_call "gs_end_call" () nogil
    int possible_threads "gs_possible_threads" (int team) nogil
    void remember_choice "gs_remember_choice" () nogil
    int lowered "gs_lowered" (int limit) nogil

cdef enum:
    # Waking a thread team costs about 2 µs if its threads still spin, and 50 µs if they sleep. A thread is worth it
    # from about 20 µs of work on. With less than twice that, the call stays on the caller's thread.
    THREAD_NS = 20000
    # Less work than this, for as few tuples, keeps the GIL. To release it and take it again costs 50 ns, or 200 after
    # many writes. With more tuples, page faults of a memory-mapped file could keep other threads waiting.
    BRIEF_NS = 16000
    BRIEF_TUPLES = 500
    MAX_TASKS = 1024
    # More tasks than threads, so that dynamic scheduling can balance the load.
    TASKS_PER_THREAD = 4


cdef inline int team_size(int limit, int forced, double work_ns) noexcept nogil:
    """The number of threads for work of this many nanoseconds.

    limit: the maximum; 0: OpenMP's choice. forced: exactly this number, however little the work; 0: not forced.
    """
    cdef double worth = work_ns / THREAD_NS
    if forced:
        return possible_threads(min(forced, <int>MAX_TASKS)) if forced > 1 else 1
    if limit == 1 or worth < 2:
        return 1
    limit = omp_max_threads() if limit <= 0 else lowered(limit)
    limit = min(limit, <int>MAX_TASKS)  # tasks report into arrays of this length
    if worth < limit:
        limit = <int>worth
    if limit > 1:
        limit = free_cpus(limit)
    return possible_threads(limit) if limit > 1 else 1


cdef inline bint may_have_team(int limit, int forced, double work_ns) noexcept nogil:
    """Whether a call has enough work for a team: then its limit is that of begin_call, and end_call ends it."""
    return limit != 1 and not forced and work_ns >= 2 * THREAD_NS


cdef inline Py_ssize_t n_tasks_for(int n_threads) noexcept nogil:
    return min(<Py_ssize_t>(n_threads * TASKS_PER_THREAD), <Py_ssize_t>MAX_TASKS)


cdef inline Py_ssize_t first_error(const Py_ssize_t* status, Py_ssize_t n) noexcept nogil:
    """The status of the first task that found a bad index, or OK."""
    cdef Py_ssize_t i
    for i in range(n):
        if status[i] != OK:
            return status[i]
    return OK


cdef inline Py_ssize_t chunk_start(Py_ssize_t n, Py_ssize_t n_chunks, Py_ssize_t chunk) noexcept nogil:
    """The start of a chunk if n work items are cut into n_chunks of equal size (± 1)."""
    return n // n_chunks * chunk + min(n % n_chunks, chunk)
