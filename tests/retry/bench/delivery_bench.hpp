#pragma once

#include "retry/bench/report.hpp"

namespace beckon::test {

/// Measures the parts above the tiers: HTTP deliveries to a receiver on loopback, and
/// the cost of a flood and of a receiver that hangs for a quiet webhook. False: something was lost.
bool measure_deliveries(Report& report, bool quick);

/// The memory of a thousand attempts, and of four thousand, that wait for their answers.
void measure_attempts_in_flight(Report& report);

}  // namespace beckon::test
