#pragma once

#include "core/milestone.hpp"
#include "reliability/history/flow.hpp"
#include "reliability/history/history.hpp"

#include <ostream>

/// How Catch2 prints what the tests of this folder compare.
namespace beckon::core {
inline std::ostream& operator<<(std::ostream& out, Milestone milestone) {
    return out << to_string(milestone);
}
}  // namespace beckon::core

namespace beckon::reliability {
inline std::ostream& operator<<(std::ostream& out, Effect effect) {
    return out << to_string(effect);
}
inline std::ostream& operator<<(std::ostream& out, const Reached& reached) {
    return out << reached.milestone << '@' << reached.at.time_since_epoch().count();
}
inline std::ostream& operator<<(std::ostream& out, const TimedStep& timed) {
    return out << timed.step.from << "->" << timed.step.to << ' ' << timed.took.count() << "ms";
}
}  // namespace beckon::reliability
