#include "app/process/process_metrics.hpp"

#include "app/process/certificates.hpp"
#include "core/descriptors.hpp"
#include "core/ids.hpp"
#include "core/time_guard.hpp"
#include "core/tokens.hpp"
#include "ops/metric_names.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace beckon::app {

namespace {

namespace fs = std::filesystem;
namespace metric = ops::metric;

/// Parts of a data directory whose size is reported.
constexpr std::array<const char*, 3> kParts = {"log", "edge", "endpoint"};

double seconds_of(const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

/// Fields of /proc/self/stat behind the command's name, which may hold anything (man 5 proc).
std::vector<std::string> stat_fields() {
    std::ifstream file{"/proc/self/stat"};
    const std::string text{std::istreambuf_iterator<char>{file}, {}};
    std::istringstream rest{text.substr(std::min(text.rfind(')') + 1, text.size()))};
    return {std::istream_iterator<std::string>{rest}, {}};
}
constexpr std::size_t kThreads = 17;     // num_threads: field 20, and these begin with field 3
constexpr std::size_t kStartTicks = 19;  // starttime: field 22

double number(const std::vector<std::string>& fields, std::size_t at) {
    return at < fields.size() ? std::strtod(fields[at].c_str(), nullptr) : 0;
}

double boot_time() {
    std::ifstream file{"/proc/stat"};
    std::string word;
    double seconds = 0;
    while (file >> word) {
        if (word == "btime") file >> seconds;
    }
    return seconds;
}

/// nullopt: it cannot be read.
std::optional<double> count_entries(const fs::path& directory) {
    std::error_code error;
    double count = 0;
    for (fs::directory_iterator at{directory, error}, end; !error && at != end; at.increment(error))
        ++count;
    return error ? std::nullopt : std::optional{count};
}

/// nullopt: it is there and cannot be read.
std::optional<double> size_of(const fs::path& directory) {
    std::error_code error;
    double bytes = 0;
    for (fs::recursive_directory_iterator at{directory, error}, end; !error && at != end;
         at.increment(error)) {
        std::error_code gone;  // files come and go
        const auto size = at->is_regular_file(gone) ? at->file_size(gone) : 0;
        if (!gone) bytes += static_cast<double>(size);
    }
    return error && error != std::errc::no_such_file_or_directory ? std::nullopt
                                                                  : std::optional{bytes};
}

/// The same text in all processes of a host whose data stands on one filesystem, until the host
/// starts again, and another one on other hosts: containers that share a disk are one alert.
std::string filesystem_of(fs::path data) {
    std::error_code error;
    while (!fs::exists(data, error) && data.has_relative_path()) data = data.parent_path();
    struct statvfs disk {};
    if (::statvfs(data.empty() ? "." : data.c_str(), &disk) != 0) return {};
    const auto digest = core::sha256(core::boot_id() + " " + std::to_string(disk.f_fsid));
    core::Bytes16 shortened{};
    std::copy_n(digest.begin(), shortened.size(), shortened.begin());
    return core::to_hex(shortened).substr(0, 16);
}

struct ProcessMetrics {
    ProcessMetrics(const std::string& role, ops::Metrics& m, const Config& c)
        : data(c.data),
          cpu(m.counter(metric::kProcessCpu, "CPU time of the process.")),
          resident(m.gauge(metric::kProcessResident, "Resident memory.")),
          open_fds(m.gauge(metric::kProcessOpenFds, "Open file descriptors.")),
          max_fds(m.gauge(metric::kProcessMaxFds, "Limit of open file descriptors.")),
          threads(m.gauge(metric::kProcessThreads, "Threads of the process.")),
          free(m.gauge(metric::kDataFree, "Free bytes on the disk of the data directory.",
                       {{"filesystem", filesystem_of(c.data)}})),
          disk(m.gauge(metric::kDataDisk, "Size of that disk.",
                       {{"filesystem", filesystem_of(c.data)}})) {
        const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
        m.gauge(metric::kProcessStart, "Start of the process, in seconds of Unix time.")
            .Set(boot_time() + number(stat_fields(), kStartTicks) / ticks);
        for (std::size_t i = 0; i < kParts.size(); ++i) {
            sizes[i] = &m.gauge(metric::kDataSize, "Bytes of a part of the data directory.",
                                {{"part", kParts[i]}});
        }
        for (auto& one : certificates_of(role, c)) {
            auto& gauge = m.gauge(metric::kCertificateExpiry,
                                  "When a certificate expires, in seconds of Unix time; 0: its "
                                  "file cannot be read.",
                                  {{"certificate", one.of}});
            certificates.emplace_back(std::move(one), &gauge);
        }
    }

    /// Without descriptors all of them are open, and what needs one to be read keeps its value.
    void poll() {
        rusage usage{};
        ::getrusage(RUSAGE_SELF, &usage);
        cpu.Increment(seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime) - cpu.Value());
        rlimit limit{};
        ::getrlimit(RLIMIT_NOFILE, &limit);
        const auto most = static_cast<double>(limit.rlim_cur);
        max_fds.Set(most);
        open_fds.Set(count_entries("/proc/self/fd").value_or(most));
        if (const auto stat = stat_fields(); !stat.empty()) threads.Set(number(stat, kThreads));
        if (const auto bytes = resident_memory()) resident.Set(*bytes);
        std::error_code error;
        const auto space = fs::space(data, error);
        if (!error) {
            free.Set(static_cast<double>(space.available));
            disk.Set(static_cast<double>(space.capacity));
        }
        for (std::size_t i = 0; i < kParts.size(); ++i) {
            if (const auto bytes = size_of(data / kParts[i])) sizes[i]->Set(*bytes);
        }
        for (const auto& [one, gauge] : certificates) {
            const auto expires = expiry_of(one);
            if (!expires && !core::has_descriptors(1)) continue;
            gauge->Set(expires ? std::chrono::duration<double>(expires->time_since_epoch()).count()
                               : 0);
        }
    }

    const fs::path data;
    prometheus::Counter& cpu;
    prometheus::Gauge& resident;
    prometheus::Gauge& open_fds;
    prometheus::Gauge& max_fds;
    prometheus::Gauge& threads;
    prometheus::Gauge& free;
    prometheus::Gauge& disk;
    std::array<prometheus::Gauge*, kParts.size()> sizes{};
    std::vector<std::pair<CertificateFile, prometheus::Gauge*>> certificates;
};

}  // namespace

std::optional<double> resident_memory() {
    std::ifstream file{"/proc/self/statm"};
    double size = 0;
    double resident = 0;
    if (!(file >> size >> resident)) return std::nullopt;
    return resident * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

ops::Mount mount_process_metrics(const std::string& role, ops::OpsServer& ops,
                                 ops::Metrics& metrics, const Config& config) {
    return ops.mount_metrics("process",
                             [all = std::make_shared<ProcessMetrics>(role, metrics, config)] {
                                 all->poll();
                                 return std::string{};
                             });
}

}  // namespace beckon::app
