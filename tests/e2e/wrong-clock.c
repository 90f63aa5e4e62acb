/* Preloaded by cluster-faults.mjs: the wall clock of a process is off by CLOCK_OFFSET_S seconds, as on a host that sets
 * its clock wrongly, and nothing else is. (libfaketime moves the ends of monotonic waits too.) */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/time.h>
#include <threads.h>
#include <time.h>

static time_t offset(void) {
    static time_t known;
    static int is_known;
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

/* Whoever waits until a wall clock time has asked the wrong clock for it. (Steady waits use pthread_cond_clockwait.) */
int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex, const struct timespec* until) {
    static int (*real)(pthread_cond_t*, pthread_mutex_t*, const struct timespec*);
    if (!real) real = next("pthread_cond_timedwait", "GLIBC_2.3.2");
    struct timespec shifted = *until;
    shifted.tv_sec -= offset();
    return real(condition, mutex, &shifted);
}

int cnd_timedwait(cnd_t* condition, mtx_t* mutex, const struct timespec* until) {
    static int (*real)(cnd_t*, mtx_t*, const struct timespec*);
    if (!real) real = dlsym(RTLD_NEXT, "cnd_timedwait");
    struct timespec shifted = *until;
    shifted.tv_sec -= offset();
    return real(condition, mutex, &shifted);
}
