#pragma once

#include <cstddef>

namespace beckon::retry {

/// The budget of evaluations. A step is a value visited, a member or a term compared, or 16 bytes
/// of text read: 10 to 30 ns. Several evaluations may share one budget. A cost above the rest
/// exhausts it: no steps are left from then on, and the evaluation has no result.
class Steps {
public:
    /// The limit of one event and one owner: 10 to 30 ms.
    static constexpr std::size_t kMax = std::size_t{1} << 20;
    /// The limit of one event and one filter, and of one query to an owner's index: such a piece
    /// runs without a pause, for 0.3 ms.
    static constexpr std::size_t kMaxOfFilter = std::size_t{1} << 14;

    explicit Steps(std::size_t most = kMax) : left_(most) {}

    /// False if there are not so many left.
    bool take(std::size_t count = 1) {
        exhausted_ = exhausted_ || count > left_;
        left_ = exhausted_ ? 0 : left_ - count;
        return !exhausted_;
    }
    /// Takes the steps of reading a text of so many bytes.
    bool take_text(std::size_t bytes) { return take(1 + bytes / kBytesPerStep); }

    bool exhausted() const { return exhausted_; }
    std::size_t left() const { return left_; }

private:
    static constexpr std::size_t kBytesPerStep = 16;
    std::size_t left_;
    bool exhausted_ = false;
};

}  // namespace beckon::retry
