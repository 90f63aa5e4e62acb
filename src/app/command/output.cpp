#include "app/command/output.hpp"

#include "core/terminal_text.hpp"

#include <csignal>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <system_error>

#include <pthread.h>

namespace beckon::app {

namespace {

bool print_to(std::ostream& out, std::string_view text, std::string_view end = "") {
    out << core::terminal_text(text) << end << std::flush;
    return out.good();
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

void print_line(std::string_view line) { print_to(std::cout, line, "\n"); }

void print_error(std::string_view line) { print_to(std::cerr, line, "\n"); }

bool print_text(std::string_view text) { return print_to(std::cout, text); }

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

namespace fs = std::filesystem;

namespace {

/// Whether the first file of that name in the directories of PATH is the binary.
bool is_first_in(std::string_view path, const fs::path& binary) {
    while (!path.empty()) {
        const auto end = path.find(':');
        const auto candidate = fs::path{path.substr(0, end)} / binary.filename();
        std::error_code error;
        if (fs::exists(candidate, error)) return fs::equivalent(candidate, binary, error);
        path.remove_prefix(end == std::string_view::npos ? path.size() : end + 1);
    }
    return false;
}

}  // namespace

std::string command_for(const fs::path& binary, const fs::path& directory, std::string_view path) {
    if (is_first_in(path, binary)) return binary.filename().string();
    const auto relative = binary.lexically_relative(directory);
    const bool is_below = !relative.empty() && *relative.begin() != "..";
    if (!is_below) return binary.string();
    return relative.has_parent_path() ? relative.string() : "./" + relative.string();
}

std::string own_command() {
    std::error_code error;
    const auto binary = fs::read_symlink("/proc/self/exe", error);
    const auto directory = fs::current_path(error);
    const char* const path = std::getenv("PATH");  // NOLINT(concurrency-mt-unsafe)
    if (error || binary.empty()) return "beckon";
    return command_for(binary, directory, path != nullptr ? path : "");
}

}  // namespace beckon::app
