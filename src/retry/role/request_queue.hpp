#pragma once

#include "core/executor.hpp"

#include <atomic>
#include <cstddef>
#include <functional>
#include <utility>

namespace beckon::retry {

/// Requests on their way from the connections to the thread that answers them, bounded by their
/// bytes: while that thread is busy, more than `bytes_max` are refused at once. Any thread; it
/// outlives its posts.
class RequestQueue {
public:
    static constexpr std::size_t kBytesMax = std::size_t{32} << 20;

    explicit RequestQueue(core::Executor& to, std::size_t bytes_max = kBytesMax)
        : to_(to), bytes_max_(bytes_max) {}

    /// Runs `work` there. False: there is no space for so many bytes, and it was not taken.
    template <class Work>
    bool put(std::size_t bytes, Work work) {
        if (bytes_.fetch_add(bytes) + bytes > bytes_max_) {
            bytes_ -= bytes;
            return false;
        }
        to_.post([this, bytes, work = std::move(work)]() mutable {
            bytes_ -= bytes;
            work();
        });
        return true;
    }
    std::size_t bytes() const { return bytes_; }

private:
    core::Executor& to_;
    const std::size_t bytes_max_;
    std::atomic<std::size_t> bytes_ = 0;
};

}  // namespace beckon::retry
