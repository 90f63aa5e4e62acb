#include "core/descriptors.hpp"

#include <algorithm>

#include <sys/resource.h>

namespace beckon::core {

std::size_t raise_descriptor_limit(std::size_t enough) {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
    rlimit raised = limit;
    raised.rlim_cur = std::max<rlim_t>(limit.rlim_cur, std::min<rlim_t>(enough, limit.rlim_max));
    if (::setrlimit(RLIMIT_NOFILE, &raised) == 0) limit = raised;
    return static_cast<std::size_t>(limit.rlim_cur);
}

}  // namespace beckon::core
