#include "core/time_guard.hpp"

#include <fstream>

#include <sys/timex.h>

namespace beckon::core {

bool host_clock_is_disciplined() {
    timex query{};  // modes 0: asks, and sets nothing
    const int state = adjtimex(&query);
    return state >= 0 && state != TIME_ERROR && (query.status & STA_UNSYNC) == 0;
}

std::string boot_id() {
    std::ifstream file{"/proc/sys/kernel/random/boot_id"};
    std::string id;
    std::getline(file, id);
    return id;
}

}  // namespace beckon::core
