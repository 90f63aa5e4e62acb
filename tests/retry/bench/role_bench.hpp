#pragma once

#include "retry/bench/report.hpp"

namespace beckon::test {

/// Measures the cost of fifty hostile owners for a healthy one, from the event to the receiver,
/// with the parts of the role on threads of their own, as in the role. False: something was lost.
bool measure_role(Report& report, bool quick);

}  // namespace beckon::test
