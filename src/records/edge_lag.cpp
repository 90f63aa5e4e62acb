#include "records/edge_lag.hpp"

#include "core/json_text.hpp"
#include "records/fields.hpp"

#include <algorithm>
#include <string>

#include <nlohmann/json.hpp>

namespace beckon::cluster {

namespace {

using Json = nlohmann::json;

constexpr std::string_view kLagType = "beckon.lag.v1";
constexpr std::string_view kLagPrefix = "lag/";

}  // namespace

core::Record encode(const EdgeLagRecord& lag) {
    std::optional<std::string> value;
    if (!lag.partitions.empty()) {
        value = core::json_text(Json{{"lag_ms", lag.lag.count()}, {"partitions", lag.partitions}});
    }
    return core::state_record(std::string{kLagPrefix} + lag.node.text, kLagType, std::move(value));
}

bool is_edge_lag_key(std::string_view key) { return key.starts_with(kLagPrefix); }

std::optional<EdgeLagRecord> decode_edge_lag(const core::RecordView& record) try {
    if (!is_edge_lag_key(record.key)) return std::nullopt;
    EdgeLagRecord out{.node = {std::string{record.key.substr(kLagPrefix.size())}}};
    if (!record.value) return out;
    const auto json = core::parse_json(*record.value);
    if (!json.is_object() || !json.contains("lag_ms")) return std::nullopt;
    out.lag = std::chrono::milliseconds{std::max<std::int64_t>(0, json["lag_ms"])};
    json.at("partitions").get_to(out.partitions);
    return out;
} catch (const Json::exception&) {
    return std::nullopt;  // a member of another type
}

}  // namespace beckon::cluster
