#include "rocks/directory.hpp"

#include "core/decimal.hpp"
#include "core/logger.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <string>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

namespace beckon::rocks {

namespace fs = std::filesystem;
using core::Fault;

namespace {

constexpr std::string_view kSetAside = ".set-aside-";
/// A store that is set aside again and again must not fill the disk.
constexpr std::size_t kSetAsideMost = 2;

/// The numbers of those that were set aside before, ascending.
std::vector<int> set_aside_before(const fs::path& directory) {
    std::vector<int> numbers;
    std::error_code error;
    const auto prefix = directory.filename().string().append(kSetAside);
    for (const auto& entry : fs::directory_iterator(directory.parent_path(), error)) {
        const auto name = entry.path().filename().string();
        if (!name.starts_with(prefix)) continue;
        const auto number = core::parse_decimal<int>(std::string_view{name}.substr(prefix.size()));
        if (number) numbers.push_back(*number);
    }
    std::sort(numbers.begin(), numbers.end());
    return numbers;
}

}  // namespace

core::Result<void> make_directory(const fs::path& directory) {
    std::error_code error;
    if (fs::create_directories(directory, error)) {
        fs::permissions(directory, fs::perms::owner_all, error);
    }
    if (!error && !fs::is_directory(directory)) {
        error = std::make_error_code(std::errc::not_a_directory);
    }
    if (!error && access(directory.c_str(), R_OK | W_OK | X_OK) != 0) {
        error = std::error_code(errno, std::generic_category());
    }
    if (!error) return {};
    const auto fault = error == std::errc::no_space_on_device ? Fault::full : Fault::unavailable;
    return core::fail(
        fault, "cannot write to the directory " + directory.string() + ": " + error.message());
}

core::Result<void> set_aside(const fs::path& directory, std::string_view why) {
    auto numbers = set_aside_before(directory);
    const auto name = [&](int n) {
        return directory.string().append(kSetAside) + std::to_string(n);
    };
    numbers.push_back(numbers.empty() ? 1 : numbers.back() + 1);
    std::error_code error;
    fs::rename(directory, name(numbers.back()), error);
    if (error) {
        return core::fail(Fault::unavailable,
                          "cannot set " + directory.string() + " aside: " + error.message());
    }
    std::string removed;
    for (; numbers.size() > kSetAsideMost; numbers.erase(numbers.begin())) {
        fs::remove_all(name(numbers.front()), error);
        removed += (removed.empty() ? "" : ", ") + name(numbers.front());
    }
    core::log_warn("store", "set_aside",
                   {{"why", why}, {"moved_to", name(numbers.back())}, {"removed", removed}});
    return {};
}

std::string lock_holder(const fs::path& directory) {
    const int file = ::open((directory / "LOCK").c_str(), O_RDWR | O_CLOEXEC);
    if (file < 0) return "";
    struct flock lock {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    const bool reported = fcntl(file, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
    ::close(file);
    return reported ? " (pid " + std::to_string(lock.l_pid) + ")" : "";
}

}  // namespace beckon::rocks
