#pragma once

#include <atomic>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>

namespace beckon::cli {

/// One line on standard output, flushed: what follows may take long, and the reader may be a pipe.
void print_line(std::string_view line);
/// The same on standard error.
void print_error(std::string_view line);

/// SIGINT and SIGTERM become a call of `on_stop` (on a thread of its own) as long as this lives.
/// A second signal ends the process.
class StopSignals {
public:
    explicit StopSignals(std::function<void()> on_stop);
    ~StopSignals();
    StopSignals(const StopSignals&) = delete;
    StopSignals& operator=(const StopSignals&) = delete;

    bool requested() const { return requested_; }

private:
    std::atomic<bool> requested_ = false;
    std::jthread thread_;
};

}  // namespace beckon::cli
