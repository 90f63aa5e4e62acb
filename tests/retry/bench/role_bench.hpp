#pragma once

#include "retry/bench/report.hpp"

namespace beckon::test {

/// What fifty hostile owners cost a healthy one, from the event to the receiver, with the parts of
/// the role on threads of their own, as the role has them. False: something was lost.
bool measure_role(Report& report, bool quick);

}  // namespace beckon::test
