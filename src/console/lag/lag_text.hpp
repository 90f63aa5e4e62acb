#pragma once

#include "console/lag/lag_table.hpp"

#include <string>

/// The lag page in its forms for people and programs. Pure functions, any thread.
namespace beckon::console {

/// {"at", "took_ms", "problems": […], "rows": [{"group", "own", "topic", "partition", "status",
/// "why", "owner", "position", "start", "end", "lag", "delay_seconds", "lag_seconds", "read_rate",
/// "append_rate", "drain_seconds", "loss", "left_seconds", "history": […]}, …]}; unknown seconds
/// are null, times are milliseconds since the Unix epoch. An empty history: no record waited
/// recently.
std::string to_json(const LagPage& page);
/// The changes of to_json(page) since `before`: it leaves out rows that have not changed. Empty
/// text: the pages are not of the same groups and partitions.
std::string to_json_change(const LagPage& page, const LagPage& before);
/// Errors: corrupt: not a page of to_json().
core::Result<LagPage> parse_lag_page(const std::string& json);

/// A table for a terminal, the worst rows first, and a last line that sums all groups up.
struct TextOptions {
    bool color = false;
    bool only_behind = false;  ///< leaves out rows that are OK
    bool partitions = false;   ///< a row for each partition; else for each group
};
std::string to_text(const LagPage& page, const TextOptions& options);

/// "1.2 s", "3 min 20 s", "2 d 4 h".
std::string duration_words(core::Duration time);

/// The page in Prometheus' text format, under the names that lag dashboards expect: those of
/// kafka_exporter, and those of KMinion where they differ. Written here and not counted, since the
/// series come and go with groups and topics. Pure.
std::string to_metrics(const LagPage& page);

}  // namespace beckon::console
