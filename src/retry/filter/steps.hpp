#pragma once

#include <cstddef>

namespace beckon::retry {

/// What evaluations may still cost. A step is a value visited, a member or a term compared, or 16
/// bytes of text read: 10 to 30 ns. Several evaluations may share one. When a cost is asked for
/// that is not left, nothing is left from then on, and what has been found out so far means
/// nothing.
class Steps {
public:
    /// Of one event and one owner: 10 to 30 ms.
    static constexpr std::size_t kMax = std::size_t{1} << 20;
    /// Of one event and one filter, and of asking the index of an owner: what is not broken off.
    static constexpr std::size_t kMaxOfFilter = std::size_t{1} << 16;

    explicit Steps(std::size_t most = kMax) : left_(most) {}

    /// False if there are not so many left.
    bool take(std::size_t count = 1) {
        exhausted_ = exhausted_ || count > left_;
        left_ = exhausted_ ? 0 : left_ - count;
        return !exhausted_;
    }
    /// For reading a text of so many bytes.
    bool take_text(std::size_t bytes) { return take(1 + bytes / kBytesPerStep); }

    bool exhausted() const { return exhausted_; }
    std::size_t left() const { return left_; }

private:
    static constexpr std::size_t kBytesPerStep = 16;
    std::size_t left_;
    bool exhausted_ = false;
};

}  // namespace beckon::retry
