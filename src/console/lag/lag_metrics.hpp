#pragma once

#include "console/lag/lag_collector.hpp"

#include <string>

namespace beckon::console {

/// The page in Prometheus' text format, under the names that lag dashboards expect: those of
/// kafka_exporter, and those of KMinion where they differ. Written here and not counted, since the
/// series come and go with groups and topics. Pure.
std::string to_metrics(const LagPage& page);

}  // namespace beckon::console
