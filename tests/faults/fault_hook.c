/* Fails chosen calls of the C library, for tests/faults: preloaded, armed and read by ctypes (fault_hook.py). glibc. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);

/* Allocations first to last after arming fail; those of a library whose path has `spared` in it are not counted. */
static atomic_long n_allocations, n_failed;
static long first, last;
static char spared[64], culprit[256];
static atomic_int armed;

void fault_arm(long from, long to, const char *spare) {
    first = from;
    last = to;
    strncpy(spared, spare, sizeof spared - 1);
    culprit[0] = 0;
    atomic_store(&n_allocations, 0);
    atomic_store(&n_failed, 0);
    atomic_store(&armed, 1);
}

/* Returns how many allocations failed. */
long fault_disarm(void) {
    atomic_store(&armed, 0);
    return atomic_load(&n_failed);
}

long fault_count(void) { return atomic_load(&n_allocations); }

/* The library that asked for the first memory that was refused. */
const char *fault_culprit(void) { return culprit; }

static int fails(const void *caller) {
    Dl_info library;
    long n;
    if (!atomic_load_explicit(&armed, memory_order_relaxed)) return 0;
    if (!dladdr(caller, &library) || !library.dli_fname) library.dli_fname = "?";
    if (spared[0] && strstr(library.dli_fname, spared)) return 0;
    n = atomic_fetch_add(&n_allocations, 1) + 1;
    if (n < first || n > last) return 0;
    if (atomic_fetch_add(&n_failed, 1) == 0) strncpy(culprit, library.dli_fname, sizeof culprit - 1);
    errno = ENOMEM;
    return 1;
}

#define CALLER __builtin_return_address(0)

void *malloc(size_t size) { return fails(CALLER) ? NULL : __libc_malloc(size); }
void *calloc(size_t count, size_t size) { return fails(CALLER) ? NULL : __libc_calloc(count, size); }
void *realloc(void *memory, size_t size) { return fails(CALLER) ? NULL : __libc_realloc(memory, size); }
void *memalign(size_t alignment, size_t size) { return fails(CALLER) ? NULL : __libc_memalign(alignment, size); }
void *aligned_alloc(size_t alignment, size_t size) { return fails(CALLER) ? NULL : __libc_memalign(alignment, size); }

int posix_memalign(void **memory, size_t alignment, size_t size) {
    void *found = fails(CALLER) ? NULL : __libc_memalign(alignment, size);
    if (!found) return ENOMEM;
    *memory = found;
    return 0;
}

void *mmap(void *address, size_t length, int protection, int flags, int file, off_t offset) {
    static void *(*real)(void *, size_t, int, int, int, off_t);
    if (fails(CALLER)) return MAP_FAILED;
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "mmap");
    return real(address, length, protection, flags, file, offset);
}

/* From now on, as many threads can live at once as this, beside those that live now. Negative: any number. */
static atomic_long threads_left = -1;
static atomic_int threads_are_limited;

void fault_allow_threads(long n) {
    atomic_store(&threads_left, n);
    atomic_store(&threads_are_limited, n >= 0);
}

struct start {
    void *(*run)(void *);
    void *argument;
};

static void *run_counted(void *given) {
    struct start start = *(struct start *)given;
    void *result;
    free(given);
    result = start.run(start.argument);
    atomic_fetch_add(&threads_left, 1);
    return result;
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *argument) {
    static int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    struct start *start;
    int error;
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
    if (!atomic_load(&threads_are_limited)) return real(thread, attributes, run, argument);
    if (atomic_fetch_sub(&threads_left, 1) <= 0) {
        atomic_fetch_add(&threads_left, 1);
        return EAGAIN;
    }
    start = __libc_malloc(sizeof *start);
    start->run = run;
    start->argument = argument;
    error = real(thread, attributes, run_counted, start);
    if (error) {
        atomic_fetch_add(&threads_left, 1);
        free(start);
    }
    return error;
}
