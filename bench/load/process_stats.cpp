#include "bench/load/process_stats.hpp"

#include <charconv>
#include <fstream>
#include <sstream>

#include <sys/resource.h>
#include <unistd.h>

namespace beckon::bench {

namespace {

std::string read_proc(pid_t pid, const char* name) {
    std::ifstream file{"/proc/" + std::to_string(pid) + "/" + name};
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

/// The number after `label` in lines such as "Pss:   123 kB"; 0 if it is not there.
std::uint64_t kilobytes_after(const std::string& text, const std::string& label) {
    const auto at = text.find(label);
    if (at == std::string::npos) return 0;
    const auto digit = text.find_first_of("0123456789", at + label.size());
    std::uint64_t value = 0;
    if (digit != std::string::npos) {
        std::from_chars(text.data() + digit, text.data() + text.size(), value);
    }
    return value;
}

double cpu_seconds(const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

}  // namespace

core::Result<NamedProcess> parse_process(const std::string& text) {
    const auto equals = text.find('=');
    const std::string digits = equals == std::string::npos ? text : text.substr(equals + 1);
    NamedProcess process;
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), process.pid);
    if (error != std::errc{} || end != digits.data() + digits.size() || process.pid <= 0) {
        return core::fail(core::Fault::invalid,
                          "'" + text + "' is not a process: use name=pid or pid");
    }
    process.name =
        equals == std::string::npos ? read_proc(process.pid, "comm") : text.substr(0, equals);
    while (!process.name.empty() && process.name.back() == '\n') process.name.pop_back();
    if (read_proc(process.pid, "stat").empty()) {
        return core::fail(core::Fault::invalid, "there is no process " + digits);
    }
    return process;
}

core::Result<ProcessSample> sample_process(pid_t pid) {
    const std::string stat = read_proc(pid, "stat");
    // The program's name, in parentheses, may hold blanks: fields are counted from its end.
    const auto name_end = stat.rfind(')');
    if (name_end == std::string::npos) {
        return core::fail(core::Fault::not_found, "process " + std::to_string(pid) + " has ended");
    }
    std::istringstream fields{stat.substr(name_end + 2)};
    std::string skipped;
    for (int field = 3; field < 14; ++field) fields >> skipped;  // utime is the 14th
    std::uint64_t user = 0;
    std::uint64_t system = 0;
    fields >> user >> system;
    return ProcessSample{
        static_cast<double>(user + system) / static_cast<double>(sysconf(_SC_CLK_TCK)),
        kilobytes_after(read_proc(pid, "status"), "VmRSS:") * 1024,
        kilobytes_after(read_proc(pid, "smaps_rollup"), "Pss:") * 1024};
}

double own_cpu_s() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return cpu_seconds(usage.ru_utime) + cpu_seconds(usage.ru_stime);
}

}  // namespace beckon::bench
