#pragma once

#include <optional>

namespace beckon::bench {

/// Chooses the rates of the sustained profile: the first, twice as much as long as the server keeps
/// up, then bisection between the highest rate that it kept up with and the lowest that it did not.
class RateSearch {
public:
    /// The search ends when the two are so close.
    static constexpr double kClose = 1.05;
    /// No rate below this share of the first one is tried.
    static constexpr double kLeast = 1.0 / 64;

    /// `most`: no higher rate is tried.
    RateSearch(double first, double most) : first_(first), most_(most) {}

    /// The next rate to try; none when it is over.
    std::optional<double> next() const;
    void tried(double rate, bool kept_up);
    /// The highest rate that the server kept up with; 0 if none.
    double best() const { return best_; }

private:
    double first_;
    double most_;
    double best_ = 0;
    std::optional<double> too_much_;  ///< the lowest that the server did not keep up with
};

}  // namespace beckon::bench
