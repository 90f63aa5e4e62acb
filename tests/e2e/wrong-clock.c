/* Preloaded by cluster-faults.mjs and firefox-quota-clock.mjs: the wall clock of a process is off by CLOCK_OFFSET_S seconds,
 * as on a host that sets its clock wrongly, and nothing else is. (libfaketime moves the ends of monotonic waits too.) Where
 * CLOCK_OFFSET_FILE names a file, the offset is its first eight bytes, also when they change. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

static volatile const int64_t* offset_in_file;

/* Before a process shuts itself into a sandbox, as those of a browser do. */
__attribute__((constructor)) static void map_file(void) {
    const char* path = getenv("CLOCK_OFFSET_FILE");
    const int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0) return;
    void* mapped = mmap(NULL, sizeof *offset_in_file, PROT_READ, MAP_SHARED, file, 0);
    if (mapped != MAP_FAILED) offset_in_file = mapped;
    close(file);
}

static time_t offset(void) {
    static time_t known;
    static int is_known;
    if (offset_in_file) return *offset_in_file;
    if (!is_known) {
        const char* text = getenv("CLOCK_OFFSET_S");
        known = text ? atol(text) : 0;
        is_known = 1;
    }
    return known;
}

/* Of several versions of a symbol, the one that programs get today. */
static void* next(const char* name, const char* version) {
    void* found = dlvsym(RTLD_NEXT, name, version);
    return found ? found : dlsym(RTLD_NEXT, name);
}

int clock_gettime(clockid_t clock, struct timespec* out) {
    static int (*real)(clockid_t, struct timespec*);
    if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
    const int result = real(clock, out);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) out->tv_sec += offset();
    return result;
}

int gettimeofday(struct timeval* out, void* zone) {
    (void)zone;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    out->tv_sec = now.tv_sec;
    out->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t* out) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (out) *out = now.tv_sec;
    return now.tv_sec;
}

int timespec_get(struct timespec* out, int base) {
    return base == TIME_UTC && clock_gettime(CLOCK_REALTIME, out) == 0 ? base : 0;
}

/* Whoever waits until a wall clock time has asked the wrong clock for it. Steady waits use pthread_cond_clockwait, or a
 * condition of the monotonic clock, which glibc marks with the second bit of __wrefs. */
int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex, const struct timespec* until) {
    static int (*real)(pthread_cond_t*, pthread_mutex_t*, const struct timespec*);
    if (!real) real = next("pthread_cond_timedwait", "GLIBC_2.3.2");
    struct timespec shifted = *until;
    if (!(condition->__data.__wrefs & 2)) shifted.tv_sec -= offset();
    return real(condition, mutex, &shifted);
}

int cnd_timedwait(cnd_t* condition, mtx_t* mutex, const struct timespec* until) {
    static int (*real)(cnd_t*, mtx_t*, const struct timespec*);
    if (!real) real = dlsym(RTLD_NEXT, "cnd_timedwait");
    struct timespec shifted = *until;
    shifted.tv_sec -= offset();
    return real(condition, mutex, &shifted);
}
