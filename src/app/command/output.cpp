#include "app/command/output.hpp"

#include "core/terminal_text.hpp"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include <pthread.h>

namespace beckon::app {

namespace {

bool print_to(std::FILE* file, std::string_view text, std::string_view end = "") {
    const auto shown = core::terminal_text(text).append(end);
    return std::fwrite(shown.data(), 1, shown.size(), file) == shown.size() &&
           std::fflush(file) == 0;
}

sigset_t stop_signals() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    return set;
}

constexpr timespec kPoll{.tv_sec = 0, .tv_nsec = 100'000'000};

}  // namespace

void print_line(std::string_view line) { print_to(stdout, line, "\n"); }

void print_error(std::string_view line) { print_to(stderr, line, "\n"); }

bool print_text(std::string_view text) { return print_to(stdout, text); }

std::string with_remedy(const core::Error& error) {
    if (error.message.find("certificate") == std::string::npos) return error.message;
    return error.message +
           "; name the certificate to trust with --ca-file FILE (a self-made one is "
           "<data>/tls/certificate.pem), or take any with --insecure";
}

StopSignals::StopSignals(std::function<void()> on_stop) {
    const sigset_t set = stop_signals();
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
    thread_ = std::jthread{[this, set, on_stop = std::move(on_stop)](const std::stop_token& stop) {
        pthread_setname_np(pthread_self(), "signals");
        while (!stop.stop_requested()) {
            const int signal = sigtimedwait(&set, nullptr, &kPoll);
            if (signal < 0) continue;
            if (signal_.exchange(signal) != 0) std::_Exit(exit_code());
            on_stop();
        }
    }};
}

StopSignals::~StopSignals() = default;

}  // namespace beckon::app
