#include "bench/rate_search.hpp"

#include <algorithm>

namespace beckon::bench {

std::optional<double> RateSearch::next() const {
    if (!too_much_) {
        if (best_ == 0) return std::min(first_, most_);
        if (best_ >= most_) return std::nullopt;
        return std::min(best_ * 2, most_);
    }
    if (best_ == 0) {
        const double lower = *too_much_ / 2;
        return lower < first_ * kLeast ? std::nullopt : std::optional{lower};
    }
    if (*too_much_ <= best_ * kClose) return std::nullopt;
    return (best_ + *too_much_) / 2;
}

void RateSearch::tried(double rate, bool kept_up) {
    if (kept_up) {
        best_ = std::max(best_, rate);
    } else {
        too_much_ = std::min(too_much_.value_or(rate), rate);
    }
}

}  // namespace beckon::bench
