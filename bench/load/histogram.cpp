#include "bench/load/histogram.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace beckon::bench {

/// Below 64 every value has its own bucket; above, the power of two and the next six bits name it.
std::size_t Histogram::bucket(std::uint64_t ns) {
    if (ns < (1U << kStepBits)) return static_cast<std::size_t>(ns);
    const auto power = static_cast<unsigned>(std::bit_width(ns)) - 1 - kStepBits;
    const auto step = (ns >> power) - (1U << kStepBits);
    return ((static_cast<std::size_t>(power) + 1) << kStepBits) + static_cast<std::size_t>(step);
}

std::int64_t Histogram::highest_in(std::size_t bucket) {
    if (bucket < (1U << kStepBits)) return static_cast<std::int64_t>(bucket);
    const std::size_t power = (bucket >> kStepBits) - 1;
    const std::size_t step = (bucket & ((1U << kStepBits) - 1)) + (1U << kStepBits);
    return static_cast<std::int64_t>(((step + 1) << power) - 1);
}

void Histogram::record(std::int64_t ns) {
    const auto value = static_cast<std::uint64_t>(std::max<std::int64_t>(ns, 0));
    ++buckets_[std::min(bucket(value), buckets_.size() - 1)];
    ++count_;
    sum_ += static_cast<double>(value);
    max_ = std::max(max_, static_cast<std::int64_t>(value));
}

std::int64_t Histogram::at(double quantile) const {
    if (count_ == 0) return 0;
    const auto wanted = static_cast<std::uint64_t>(
        std::ceil(std::clamp(quantile, 0.0, 1.0) * static_cast<double>(count_)));
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < buckets_.size(); ++i) {
        seen += buckets_[i];
        if (seen >= std::max<std::uint64_t>(wanted, 1)) return std::min(highest_in(i), max_);
    }
    return max_;
}

double Histogram::mean() const { return count_ == 0 ? 0 : sum_ / static_cast<double>(count_); }

}  // namespace beckon::bench
