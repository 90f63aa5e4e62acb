// A watch on the turns of all threads of the product: a turn goes from the end of one wait to the
// beginning of the next. The watch stands in front of the calls in which threads wait, and is
// linked into every test.
#include "support/turn_watch.hpp"

#if defined(BECKON_SANITIZED)  // whose own calls stand there; and nothing is as fast as it is

beckon::test::TurnStart beckon::test::begin_turn() { return {}; }
void beckon::test::end_turn(const TurnStart&) {}

#else

#include "support/cpu_time.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <unistd.h>

namespace beckon::test {

namespace {

/// Threads that nobody waits for: RocksDB's, librdkafka's, and those that go through a whole log or
/// store for one call. (The kernel knows 15 characters of a name.)
constexpr std::array<std::string_view, 5> kPatient{"rocksdb:", "rdk:", "log-cleaner", "backup",
                                                   "store-copies"};

std::string thread_name() {
    std::array<char, 16> name{};
    pthread_getname_np(pthread_self(), name.data(), name.size());
    return name.data();
}

/// The threads of the product have names; those that a test makes have the program's.
bool is_watched(std::string_view name) {
    static const auto program = std::string{program_invocation_short_name}.substr(0, 15);
    return name != program && std::none_of(kPatient.begin(), kPatient.end(),
                                           [&](auto patient) { return name.starts_with(patient); });
}

/// Turns that took too long, printed when the program ends.
class Findings {
public:
    Findings() = default;
    ~Findings() {
        if (longest_ == core::Duration{}) return;
        std::fprintf(stderr,
                     "a turn of the thread '%s' took %lld ms of the processor's time; a turn may "
                     "take %lld ms\n",
                     thread_.c_str(), in_ms(longest_), in_ms(kTurnMost));
        std::fflush(nullptr);
        _exit(EXIT_FAILURE);
    }
    Findings(const Findings&) = delete;
    Findings& operator=(const Findings&) = delete;

    void add(core::Duration turn, std::string thread) {
        const std::scoped_lock lock{mutex_};
        if (turn <= longest_) return;
        longest_ = turn;
        thread_ = std::move(thread);
    }

private:
    static long long in_ms(core::Duration span) {
        return std::chrono::duration_cast<std::chrono::milliseconds>(span).count();
    }

    std::mutex mutex_;
    core::Duration longest_{};
    std::string thread_;
} findings;

/// Of this thread. A loop that waits for descriptors waits for conditions only within a turn.
struct Turns {
    std::optional<TurnStart> current;
    bool is_loop = false;
    TurnStart cpu_time_read;  ///< when the kernel was asked last
};
thread_local Turns turns;

/// The time for which a turn had the processor; nothing where it is no longer than it may be.
std::optional<core::Duration> too_long(const TurnStart& start) {
    if (std::chrono::steady_clock::now() - start.wall <= kTurnMost) return std::nullopt;
    const auto cpu = thread_cpu_time() - start.cpu;
    return cpu > kTurnMost ? std::optional{cpu} : std::nullopt;
}

void end_current_turn() {
    if (!turns.current) return;
    const auto took = too_long(*turns.current);
    if (!took) return;
    if (auto name = thread_name(); is_watched(name)) findings.add(*took, std::move(name));
}

template <class Wait>
int wait_for_descriptors(Wait wait) {
    turns.is_loop = true;
    end_current_turn();
    const int result = wait();
    const int error = errno;
    turns.current = begin_turn();
    errno = error;
    return result;
}

template <class Wait>
int wait_for_condition(Wait wait) {
    if (turns.is_loop) return wait();
    end_current_turn();
    const int result = wait();
    turns.current = begin_turn();
    return result;
}

/// The function of the C library whose name stands in front of it here.
template <class Function>
Function* next(const char* name, const char* version = nullptr) {
    void* const found = version ? dlvsym(RTLD_NEXT, name, version) : dlsym(RTLD_NEXT, name);
    return reinterpret_cast<Function*>(found ? found : dlsym(RTLD_NEXT, name));
}

}  // namespace

TurnStart begin_turn() {
    const auto now = std::chrono::steady_clock::now();
    auto& read = turns.cpu_time_read;
    if (now - read.wall >= kCpuTimeAge) read = {.wall = now, .cpu = thread_cpu_time()};
    return {.wall = now, .cpu = read.cpu};
}

void end_turn(const TurnStart& start) {
    if (const auto took = too_long(start)) findings.add(*took, thread_name());
}

}  // namespace beckon::test

using beckon::test::next;

extern "C" {

int epoll_wait(int epoll, epoll_event* events, int most, int timeout) {
    static const auto real = next<decltype(::epoll_wait)>("epoll_wait");
    return beckon::test::wait_for_descriptors([&] { return real(epoll, events, most, timeout); });
}

int poll(pollfd* fds, nfds_t count, int timeout) {
    static const auto real = next<decltype(::poll)>("poll");
    return beckon::test::wait_for_descriptors([&] { return real(fds, count, timeout); });
}

int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
    static const auto real =
        next<decltype(::pthread_cond_wait)>("pthread_cond_wait", "GLIBC_2.3.2");
    return beckon::test::wait_for_condition([&] { return real(condition, mutex); });
}

int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                           const timespec* until) {
    static const auto real =
        next<decltype(::pthread_cond_timedwait)>("pthread_cond_timedwait", "GLIBC_2.3.2");
    return beckon::test::wait_for_condition([&] { return real(condition, mutex, until); });
}

int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                           const timespec* until) {
    static const auto real = next<decltype(::pthread_cond_clockwait)>("pthread_cond_clockwait");
    return beckon::test::wait_for_condition([&] { return real(condition, mutex, clock, until); });
}
}

#endif
