// C11 threads on POSIX threads, for ThreadSanitizer, which knows only the latter. librdkafka makes
// its threads, locks and conditions with C11's functions; this file has the functions that it uses.
// Without it ThreadSanitizer would end the process at the first allocation of such a thread, and
// would not see the locks around the data that librdkafka passes between threads.
//
// A program's own definitions come before those of the C library, for its shared libraries too.
#include <cerrno>
#include <cstdint>
#include <memory>

#include <pthread.h>
#include <threads.h>

namespace {

static_assert(sizeof(mtx_t) == sizeof(pthread_mutex_t) &&
              alignof(mtx_t) == alignof(pthread_mutex_t));
static_assert(sizeof(cnd_t) == sizeof(pthread_cond_t) && alignof(cnd_t) == alignof(pthread_cond_t));

pthread_mutex_t* posix(mtx_t* lock) { return reinterpret_cast<pthread_mutex_t*>(lock); }
pthread_cond_t* posix(cnd_t* condition) { return reinterpret_cast<pthread_cond_t*>(condition); }

int outcome(int error) {
    switch (error) {
        case 0: return thrd_success;
        case ENOMEM: return thrd_nomem;
        case ETIMEDOUT: return thrd_timedout;
        case EBUSY: return thrd_busy;
        default: return thrd_error;
    }
}

struct Start {
    thrd_start_t function;
    void* argument;
};

void* run(void* start) {
    const std::unique_ptr<Start> owned{static_cast<Start*>(start)};
    const int result = owned->function(owned->argument);
    return reinterpret_cast<void*>(static_cast<std::intptr_t>(result));
}

}  // namespace

extern "C" {

int thrd_create(thrd_t* thread, thrd_start_t function, void* argument) {
    auto start = std::make_unique<Start>(Start{function, argument});
    const int error = pthread_create(thread, nullptr, run, start.get());
    if (error == 0) static_cast<void>(start.release());  // run() owns it
    return outcome(error);
}

int thrd_join(thrd_t thread, int* result) {
    void* returned = nullptr;
    const int error = pthread_join(thread, &returned);
    if (result) *result = static_cast<int>(reinterpret_cast<std::intptr_t>(returned));
    return outcome(error);
}

int mtx_init(mtx_t* lock, int type) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    const bool recursive = (type & mtx_recursive) != 0;
    pthread_mutexattr_settype(&attributes,
                              recursive ? PTHREAD_MUTEX_RECURSIVE : PTHREAD_MUTEX_NORMAL);
    const int error = pthread_mutex_init(posix(lock), &attributes);
    pthread_mutexattr_destroy(&attributes);
    return outcome(error);
}

int mtx_lock(mtx_t* lock) { return outcome(pthread_mutex_lock(posix(lock))); }
int mtx_unlock(mtx_t* lock) { return outcome(pthread_mutex_unlock(posix(lock))); }
void mtx_destroy(mtx_t* lock) { pthread_mutex_destroy(posix(lock)); }

int cnd_init(cnd_t* condition) { return outcome(pthread_cond_init(posix(condition), nullptr)); }
int cnd_signal(cnd_t* condition) { return outcome(pthread_cond_signal(posix(condition))); }
int cnd_broadcast(cnd_t* condition) { return outcome(pthread_cond_broadcast(posix(condition))); }
void cnd_destroy(cnd_t* condition) { pthread_cond_destroy(posix(condition)); }

int cnd_wait(cnd_t* condition, mtx_t* lock) {
    return outcome(pthread_cond_wait(posix(condition), posix(lock)));
}

int cnd_timedwait(cnd_t* condition, mtx_t* lock, const timespec* until) {
    return outcome(pthread_cond_timedwait(posix(condition), posix(lock), until));
}
}
