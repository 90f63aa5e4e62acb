#pragma once

#include <cstddef>
#include <limits>
#include <string_view>
#include <utility>

#include <unistd.h>

namespace beckon::core {

/// Owns a file descriptor and closes it.
class Descriptor {
public:
    Descriptor() = default;
    explicit Descriptor(int fd) : fd_(fd) {}
    Descriptor(Descriptor&& other) noexcept : fd_(other.release()) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        if (this != &other) reset(other.release());
        return *this;
    }
    ~Descriptor() { reset(); }

    int get() const { return fd_; }  ///< -1: none
    explicit operator bool() const { return fd_ >= 0; }
    int release() { return std::exchange(fd_, -1); }
    void reset(int fd = -1) {
        if (fd_ >= 0) ::close(fd_);
        fd_ = fd;
    }

private:
    int fd_ = -1;
};

/// Writes all of `bytes`, in as many calls as it takes. false: `errno` has the reason.
bool write_all(int fd, std::string_view bytes);

/// Raises the process's limit of open files to `enough`, as far as it may go itself (`ulimit -Hn`),
/// and returns it: every connection is a descriptor, and the usual limit is 1,024. Never lowers it.
/// No more than enough: libwebsockets pays for the limit with each connection
/// (docs/facts/libwebsockets.md). Any thread.
std::size_t raise_descriptor_limit(std::size_t enough = std::numeric_limits<std::size_t>::max());

/// The descriptors that connections leave free for the log and the stores: a sixteenth of the
/// limit, 16 to 512 of them. Any thread.
std::size_t reserved_descriptors(std::size_t limit);
/// Whether a descriptor that the process has just got is one of its last: fewer than
/// reserved_descriptors() are left above it. The kernel gives the lowest number that is free. Any
/// thread.
bool is_reserved(int descriptor);

/// Whether the process could open so many files now. Any thread.
bool has_descriptors(std::size_t count);

}  // namespace beckon::core
