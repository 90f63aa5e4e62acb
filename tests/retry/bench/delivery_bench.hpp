#pragma once

#include "retry/bench/report.hpp"

namespace beckon::test {

/// What stands above the tiers: percolation, HTTP deliveries to a receiver on loopback, and what a
/// flood and a receiver that hangs cost a quiet webhook. False: something was lost.
bool measure_deliveries(Report& report, bool quick);

}  // namespace beckon::test
