#include "records/client.hpp"

#include "core/assert.hpp"
#include "core/json_member.hpp"
#include "core/json_text.hpp"
#include "records/fields.hpp"

#include <utility>

#include <nlohmann/json.hpp>

namespace beckon::core {

namespace {

constexpr std::string_view kClient = "beckon.client.v1";

}  // namespace

Record encode(const ClientRecorded& event) {
    Json value{{"router_type", to_string(event.router_type)},
               {"created", to_ms(event.created)},
               {"last_seen", to_ms(event.last_seen)}};
    if (event.router_data) {
        Json data = parse_json(*event.router_data);
        BECKON_ASSERT(data.is_object(), "router data is checked where it enters");
        value["router_data"] = std::move(data);
    }
    return state_record(to_hex(event.uaid), kClient, core::json_text(value), event.stamp);
}

Record encode(const ClientRemoved& event) {
    return state_record(to_hex(event.uaid), kClient, std::nullopt, event.stamp);
}

std::string_view read_record(const RecordView& record, std::string& scratch, ClientRecorded& into) {
    const HeaderScan headers{record.headers};
    if (other_type(headers, kClient)) return "unknown event type";
    if (const auto why = read_stamp(headers, into.stamp); !why.empty()) return why;
    const auto [json, why] = parse_object(*record.value);
    if (!why.empty()) return why;
    const std::string* type_text = find_text(json, "router_type");
    const auto type = type_text ? parse_router_type(*type_text) : std::nullopt;
    const auto created = read_time(json, "created");
    const auto last_seen = read_time(json, "last_seen");
    if (!type) return "client has no known router_type";
    if (!created || !last_seen) return "client lacks created or last_seen";
    into.router_type = *type;
    into.created = *created;
    into.last_seen = *last_seen;
    if (const Json* data = find_member(json, "router_data")) {
        if (!data->is_object()) return "router_data is not a JSON object";
        scratch = core::json_text(*data);
        into.router_data = scratch;
    }
    return {};
}

std::string_view read_record(const RecordView& record, ClientRemoved& into) {
    return read_stamp(HeaderScan{record.headers}, into.stamp);
}

}  // namespace beckon::core
