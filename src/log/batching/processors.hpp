#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace beckon::log {

/// How busy the processors are that this process may use, by the kernel's counts. One thread at a
/// time.
class Processors {
public:
    Processors();
    ~Processors();
    Processors(const Processors&) = delete;
    Processors& operator=(const Processors&) = delete;

    /// Shares of what there was.
    struct Load {
        double idle = 1;  ///< 0 where a control group held this process back
        double own = 0;   ///< used by this process
    };
    /// Since the last call, which should be a fifth of a second ago or more: the kernel counts in
    /// steps of 10 ms.
    Load since_last();

    /// The processors' counts of /proc/stat, in steps of the kernel's clock; 0 where the text does
    /// not have them. A processor that waits for a disk is idle, and so is one that does the work
    /// of a lower priority: it is free for ours.
    struct Ticks {
        std::uint64_t idle = 0;
        std::uint64_t all = 0;
    };
    static Ticks parse_stat(const std::string& text);
    /// For how long a control group held its processes back, of cgroup v2's cpu.stat.
    static std::chrono::microseconds parse_throttled(const std::string& text);

private:
    struct Counts {
        Ticks ticks;
        std::chrono::microseconds throttled{};
        std::chrono::nanoseconds own{};
        std::chrono::steady_clock::time_point at;
    };
    Counts read() const;

    const unsigned count_;
    const int stat_;
    const int group_;
    Counts last_;
};

}  // namespace beckon::log
