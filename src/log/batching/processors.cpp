#include "log/batching/processors.hpp"

#include <algorithm>
#include <array>
#include <ctime>
#include <sstream>
#include <string_view>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace beckon::log {

using std::chrono::microseconds;
using std::chrono::nanoseconds;

namespace {

/// Held back for a larger share of the time than this, a process has no idle processor.
constexpr double kThrottledShare = 0.05;

int open_to_read(const char* path) { return ::open(path, O_RDONLY | O_CLOEXEC); }

/// The beginning of a file of /proc or /sys, whatever it says now.
std::string beginning_of(int file) {
    std::array<char, 512> text{};
    const auto size = file < 0 ? -1 : ::pread(file, text.data(), text.size(), 0);
    return size <= 0 ? std::string{} : std::string{text.data(), static_cast<std::size_t>(size)};
}

nanoseconds computed() {
    timespec time{};
    if (::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) != 0) return {};
    return std::chrono::seconds{time.tv_sec} + nanoseconds{time.tv_nsec};
}

}  // namespace

Processors::Processors()
    : count_(std::max(1U, std::thread::hardware_concurrency())),
      stat_(open_to_read("/proc/stat")),
      group_(open_to_read("/sys/fs/cgroup/cpu.stat")) {
    last_ = read();
}

Processors::~Processors() {
    for (const int file : {stat_, group_}) {
        if (file >= 0) ::close(file);
    }
}

/// "cpu  user nice system idle iowait irq softirq steal ..."
Processors::Ticks Processors::parse_stat(const std::string& text) {
    std::istringstream line{text};
    std::string name;
    line >> name;
    Ticks ticks;
    if (name != "cpu") return ticks;
    std::array<std::uint64_t, 8> fields{};
    for (auto& field : fields) {
        if (!(line >> field)) break;
        ticks.all += field;
    }
    ticks.idle = fields[1] + fields[3] + fields[4];
    return ticks;
}

microseconds Processors::parse_throttled(const std::string& text) {
    constexpr std::string_view kName = "throttled_usec ";
    const auto at = text.find(kName);
    if (at == std::string::npos) return {};
    std::int64_t us = 0;
    std::istringstream{text.substr(at + kName.size())} >> us;
    return microseconds{us};
}

Processors::Counts Processors::read() const {
    return {parse_stat(beginning_of(stat_)), parse_throttled(beginning_of(group_)), computed(),
            std::chrono::steady_clock::now()};
}

Processors::Load Processors::since_last() {
    const auto now = read();
    const auto last = std::exchange(last_, now);
    const std::chrono::duration<double> passed = now.at - last.at;
    if (now.ticks.all <= last.ticks.all || passed.count() <= 0) return {};
    Load load;
    load.idle = static_cast<double>(now.ticks.idle - last.ticks.idle) /
                static_cast<double>(now.ticks.all - last.ticks.all);
    if (now.throttled - last.throttled > passed * kThrottledShare) load.idle = 0;
    load.own =
        std::chrono::duration<double>{now.own - last.own}.count() / (passed.count() * count_);
    return load;
}

}  // namespace beckon::log
