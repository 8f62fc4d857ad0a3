/* Which other threads run on the machine, and which calls; how many threads can be created. threads.pxd says why. */
#ifndef GS_LOAD_H
#define GS_LOAD_H
#include "common/machine.h"

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
/* Whether other processes kept half a CPU busy, or more, since the last such reading: /proc/stat has the time of all,
   in ticks. */
static int gs_others_were_busy(int64_t now) {
    enum { TICKS_NS = 100000000 };  /* nanoseconds: ten ticks */
    int64_t elapsed = now - GS_LOAD(gs_shared->ticks_at), busy, own;
    unsigned long long user, nice, system, interrupts, soft_interrupts;
    char text[256];
    if (elapsed < TICKS_NS) return GS_LOAD(gs_shared->others_were_busy);
    gs_read_begin("/proc/stat", text, sizeof text);
    if (sscanf(text, "cpu %llu %llu %llu %*u %*u %llu %llu", &user, &nice, &system, &interrupts,
               &soft_interrupts) != 5) return 1;
    busy = (int64_t)(user + nice + system + interrupts + soft_interrupts) * (1000000000 / sysconf(_SC_CLK_TCK));
    own = gs_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    if (GS_LOAD(gs_shared->ticks_at)) {
        GS_STORE(gs_shared->others_were_busy,
                 2 * (busy - GS_LOAD(gs_shared->last_busy) - (own - GS_LOAD(gs_shared->last_own))) > elapsed);
    }
    GS_STORE(gs_shared->last_busy, busy);
    GS_STORE(gs_shared->last_own, own);
    GS_STORE(gs_shared->ticks_at, now);
    return GS_LOAD(gs_shared->others_were_busy);
}
static int gs_is_dynamic(void) {
    static int known = -1;
    if (known < 0) {
        const char *dynamic = getenv("OMP_DYNAMIC");
        known = !(dynamic && (!strcasecmp(dynamic, "false") || !strcmp(dynamic, "0")));
    }
    return known;
}
/* Read which other threads run, or wait for a CPU. OpenMP's spin for some milliseconds after a region: those of our
   last team run for us. Others of this process are those of another library, such as BLAS, that spin as well. */
static void gs_read_load(int64_t now) {
    enum { MAX_AGE_NS = 500000 };    /* nanoseconds between two readings, each of which takes some microseconds */
    enum { SPIN_NS = 10000000 };     /* that threads of OpenMP may spin after a region */
    enum { WINDOW_NS = 20000000 };   /* in which our busy threads are counted by their CPU time */
    int64_t elapsed = now - GS_LOAD(gs_shared->window_start);
    int own = 1, all, extra, others;
    if (!GS_LOAD(gs_shared->read_at)) gs_others_were_busy(now);  /* the first window begins */
    if (now - GS_LOAD(gs_shared->read_at) < MAX_AGE_NS) return;
    if (elapsed >= WINDOW_NS) {
        int64_t cpu_time = gs_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
        GS_STORE(gs_shared->busy,
                 (int)((cpu_time - GS_LOAD(gs_shared->window_cpu_time) + elapsed / 2) / elapsed));
        GS_STORE(gs_shared->window_cpu_time, cpu_time);
        GS_STORE(gs_shared->window_start, now);
    }
    if (now - GS_LOAD(gs_shared->team_at) < SPIN_NS) own = GS_LOAD(gs_shared->last_team);
    all = own > GS_LOAD(gs_shared->busy) ? own : GS_LOAD(gs_shared->busy);
    extra = gs_runnable_threads() - own;
    others = extra + own - all;
    if (others < 0 || !gs_others_were_busy(now)) others = 0;  /* or a thread that merely woke up */
    extra -= others;
    GS_STORE(gs_shared->others, others);
    GS_STORE(gs_shared->spinning, extra > 0 && GS_LOAD(gs_shared->busy) > 1 ? extra : 0);
    GS_STORE(gs_shared->n_own, gs_own_cpus());
    if (!GS_LOAD(gs_shared->n_cpus)) GS_STORE(gs_shared->n_cpus, (int)sysconf(_SC_NPROCESSORS_ONLN));
    GS_STORE(gs_shared->read_at, now);
}
/* How many CPUs of a team of this size other processes leave to this one. */
static int gs_free_cpus(int team) {
    int free_cpus;
    if (!gs_is_dynamic()) return team;
    gs_read_load(gs_clock_ns(CLOCK_MONOTONIC));
    free_cpus = GS_LOAD(gs_shared->n_cpus) - GS_LOAD(gs_shared->others);
    if (GS_LOAD(gs_shared->n_own) < free_cpus) free_cpus = GS_LOAD(gs_shared->n_own);
    return free_cpus < team ? free_cpus : team;
}
/* Note that a team of so many threads begins or ends to work, and spins then. */
static void gs_note_team(int team) {
    if (team > 1) {
        GS_STORE(gs_shared->last_team, team);
        GS_STORE(gs_shared->team_at, gs_clock_ns(CLOCK_MONOTONIC));
    }
}
/* Calls that run at once on several Python threads, as of a thread pool, share the CPUs. OpenMP has a team for
   each thread that calls it. While all teams together have more threads than there are CPUs, threads that wait
   for work sleep instead of spinning, and every small call of the process takes the time to wake them.

   So a thread remembers for some seconds how many calls ran at the same time as one of its own. Except for the
   main thread, it begins without a team, until it is known whether it is one of a pool. */
static __thread int gs_most_calls = 0;  /* that ran at once */
static __thread int64_t gs_most_at = 0, gs_begun_at = 0;
static void gs_note_calls(int n, int64_t now) {
    enum { VALID_S = 5 };  /* seconds */
    if (n >= gs_most_calls || now - gs_most_at > VALID_S * (int64_t)1000000000) {
        gs_most_calls = n;
        gs_most_at = now;
    }
}
/* The limit of the threads of a call that begins now; 0: OpenMP's choice. */
static int gs_begin_call(int limit) {
    enum { NEW_NS = 100000000 };  /* nanoseconds: until then other threads of a pool have called, too */
    static __thread int64_t known_since = 0;
    int64_t now = gs_clock_ns(CLOCK_MONOTONIC);
    int most = limit > 0 ? limit : gs_max_threads();
    gs_note_calls(__atomic_add_fetch(&gs_shared->calls, 1, __ATOMIC_RELAXED), now);
    gs_begun_at = now;
    if (!gs_is_dynamic()) return limit;
    if (!known_since) known_since = syscall(SYS_gettid) == getpid() ? now - NEW_NS : now;
    if (now - known_since < NEW_NS) return 1;
    if (gs_most_calls == 1) return limit;
    return gs_most_calls < most ? most / gs_most_calls : 1;
}
static void gs_end_call(void) {
    int n = __atomic_fetch_sub(&gs_shared->calls, 1, __ATOMIC_RELAXED);
    if (n > 1) gs_note_calls(n, gs_clock_ns(CLOCK_MONOTONIC));
    if (GS_LOAD(gs_shared->team_at) > gs_begun_at) gs_note_team(GS_LOAD(gs_shared->last_team));
}
#else
  static int gs_free_cpus(int team) { return team; }
  static void gs_note_team(int team) { (void)team; }
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
      enum { MIN_STACK = 1 << 17, TRIAL_S = 2 };  /* bytes that the kernels need; seconds */
      static __thread int tried = 0, possible = 0;
      static __thread time_t tried_at = 0;
      struct timespec now;
      if (gs_stack_bytes() && gs_stack_bytes() < MIN_STACK) return 1;
      clock_gettime(CLOCK_MONOTONIC, &now);
      if (team > tried || now.tv_sec - tried_at >= TRIAL_S) {
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
static void gs_remember_choice(void) { gs_shared->choice = gs_max_threads(); }
static int gs_lowered(int limit) {
    int now = gs_max_threads();
    return now < limit && now < gs_shared->choice ? now : limit;
}

#endif
