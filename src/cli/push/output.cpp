#include "cli/push/output.hpp"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include <pthread.h>

namespace beckon::cli {

namespace {

void print_to(std::FILE* file, std::string_view line) {
    std::fwrite(line.data(), 1, line.size(), file);
    std::fputc('\n', file);
    std::fflush(file);
}

sigset_t stop_signals() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    return set;
}

constexpr int kEndedBySignal = 130;
constexpr timespec kPoll{.tv_sec = 0, .tv_nsec = 100'000'000};

}  // namespace

void print_line(std::string_view line) { print_to(stdout, line); }

void print_error(std::string_view line) { print_to(stderr, line); }

StopSignals::StopSignals(std::function<void()> on_stop) {
    const sigset_t set = stop_signals();
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
    thread_ = std::jthread{[this, set, on_stop = std::move(on_stop)](const std::stop_token& stop) {
        pthread_setname_np(pthread_self(), "signals");
        while (!stop.stop_requested()) {
            if (sigtimedwait(&set, nullptr, &kPoll) < 0) continue;
            if (requested_.exchange(true)) std::_Exit(kEndedBySignal);
            on_stop();
        }
    }};
}

StopSignals::~StopSignals() = default;

}  // namespace beckon::cli
