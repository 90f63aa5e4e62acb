#include "rocks/directory.hpp"

#include "core/logger.hpp"

#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

namespace beckon::rocks {

namespace fs = std::filesystem;
using core::Fault;

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
    for (int n = 1;; ++n) {
        const fs::path aside = directory.string() + ".set-aside-" + std::to_string(n);
        std::error_code error;
        if (fs::exists(aside, error)) continue;
        fs::rename(directory, aside, error);
        if (error) {
            return core::fail(Fault::unavailable,
                              "cannot set " + directory.string() + " aside: " + error.message());
        }
        core::log_warn("store", "set_aside", {{"why", why}, {"moved_to", aside.string()}});
        return {};
    }
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
