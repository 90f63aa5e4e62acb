#include "core/descriptors.hpp"

#include <sys/resource.h>

namespace beckon::core {

std::size_t raise_descriptor_limit() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
    rlimit highest = limit;
    highest.rlim_cur = limit.rlim_max;
    if (::setrlimit(RLIMIT_NOFILE, &highest) == 0) limit = highest;
    return static_cast<std::size_t>(limit.rlim_cur);
}

}  // namespace beckon::core
