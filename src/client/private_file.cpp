#include "client/private_file.hpp"

#include "core/descriptors.hpp"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace beckon::client {

namespace {

constexpr std::size_t kFileBytesMax = 16U << 20;

std::string because(const std::string& what) { return what + ": " + std::strerror(errno); }

}  // namespace

core::Result<void> write_private_file(const std::filesystem::path& file, std::string_view text) {
    const std::string temporary = file.string() + ".new";
    {
        const core::Descriptor out{
            ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)};
        if (!out || ::fchmod(out.get(), 0600) != 0 || !core::write_all(out.get(), text) ||
            ::fsync(out.get()) != 0) {
            return core::fail(core::Fault::unavailable, because("cannot write " + temporary));
        }
    }
    if (::rename(temporary.c_str(), file.c_str()) != 0) {
        return core::fail(core::Fault::unavailable, because("cannot write " + file.string()));
    }
    return {};
}

core::Result<std::string> read_text_file(const std::filesystem::path& file) {
    const core::Descriptor in{::open(file.c_str(), O_RDONLY | O_CLOEXEC)};
    if (!in) {
        const auto fault = errno == ENOENT ? core::Fault::not_found : core::Fault::unavailable;
        return core::fail(fault, because("cannot read " + file.string()));
    }
    std::string text;
    char piece[16'384];
    for (;;) {
        const ssize_t n = ::read(in.get(), piece, sizeof piece);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) {
            return core::fail(core::Fault::unavailable, because("cannot read " + file.string()));
        }
        if (n == 0) return text;
        if (text.size() + static_cast<std::size_t>(n) > kFileBytesMax) {
            return core::fail(core::Fault::too_large, file.string() + " has more than 16 MB");
        }
        text.append(piece, static_cast<std::size_t>(n));
    }
}

}  // namespace beckon::client
