#include "core/descriptors.hpp"

#include <algorithm>
#include <cerrno>
#include <vector>

#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

namespace beckon::core {

bool write_all(int fd, std::string_view bytes) {
    while (!bytes.empty()) {
        const auto written = ::write(fd, bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return false;
        bytes.remove_prefix(static_cast<std::size_t>(written));
    }
    return true;
}

std::size_t reserved_descriptors(std::size_t limit) {
    constexpr std::size_t kLeast = 16;
    constexpr std::size_t kEnough = 512;
    return std::clamp(limit / 16, kLeast, kEnough);
}

bool is_reserved(int descriptor) {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return false;
    const auto all = static_cast<std::size_t>(limit.rlim_cur);
    return static_cast<std::size_t>(descriptor) + reserved_descriptors(all) >= all;
}

bool has_descriptors(std::size_t count) {
    std::vector<int> opened;
    while (opened.size() < count) {
        const int one = ::eventfd(0, EFD_CLOEXEC);
        if (one < 0) break;
        opened.push_back(one);
    }
    for (const int one : opened) ::close(one);
    return opened.size() == count;
}

std::size_t raise_descriptor_limit(std::size_t enough) {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
    rlimit raised = limit;
    raised.rlim_cur = std::max<rlim_t>(limit.rlim_cur, std::min<rlim_t>(enough, limit.rlim_max));
    if (::setrlimit(RLIMIT_NOFILE, &raised) == 0) limit = raised;
    return static_cast<std::size_t>(limit.rlim_cur);
}

}  // namespace beckon::core
