#pragma once

#include <array>
#include <cstdint>

namespace beckon::bench {

/// Durations in nanoseconds, kept to within 1.6 % in constant memory (HDR style: 64 equal steps
/// per power of two). One thread.
class Histogram {
public:
    void record(std::int64_t ns);
    void clear() { *this = {}; }

    std::uint64_t count() const { return count_; }
    /// The value that `quantile` (0 to 1) of the recorded ones do not exceed; 0 if there is none.
    std::int64_t at(double quantile) const;
    std::int64_t max() const { return max_; }
    double mean() const;

private:
    static constexpr unsigned kStepBits = 6;
    static constexpr unsigned kPowers = 42;  // up to 2^47 ns, 39 hours
    static std::size_t bucket(std::uint64_t ns);
    static std::int64_t highest_in(std::size_t bucket);

    std::array<std::uint32_t, (kPowers + 1) << kStepBits> buckets_{};
    std::uint64_t count_ = 0;
    std::int64_t max_ = 0;
    double sum_ = 0;
};

}  // namespace beckon::bench
