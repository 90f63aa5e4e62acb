#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include <unistd.h>

namespace beckon::net {

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

/// File descriptors that belong to one port, whatever else the process opens: placeholders, each of
/// which makes way for a connection when only the process's last descriptors are free. The
/// descriptor of a connection that ends becomes a placeholder again without being free meanwhile.
/// One thread.
class OwnDescriptors {
public:
    explicit OwnDescriptors(std::size_t count);

    /// A placeholder to replace or close; none if all have made way.
    Descriptor take();
    /// Closes a connection's descriptor, or keeps it as a placeholder.
    void give_back(Descriptor descriptor);
    /// Opens those that have made way, where that takes none of the last descriptors.
    void refill();

private:
    const std::size_t count_;
    std::vector<Descriptor> placeholders_;
};

}  // namespace beckon::net
