#include "core/time_guard.hpp"

#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>

#include <sys/timex.h>

namespace beckon::core {

bool host_clock_is_disciplined() {
    timex query{};  // modes 0: asks, and sets nothing
    const int state = adjtimex(&query);
    return state >= 0 && state != TIME_ERROR && (query.status & STA_UNSYNC) == 0;
}

std::string boot_id() {
    // In a time namespace of its own a process has a CLOCK_BOOTTIME of its own
    // (time_namespaces(7)).
    static constexpr std::string_view kInitialTimeNamespace = "time:[4026531834]";
    std::error_code none;
    const auto names = std::filesystem::read_symlink("/proc/self/ns/time", none);
    if (!none && names != kInitialTimeNamespace) return {};
    std::ifstream file{"/proc/sys/kernel/random/boot_id"};
    std::string id;
    std::getline(file, id);
    return id;
}

}  // namespace beckon::core
