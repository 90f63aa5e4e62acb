#include "retry/webhook/webhooks_changed.hpp"

#include "core/decimal.hpp"
#include "core/json_text.hpp"
#include "core/whole_number.hpp"
#include "records/fields.hpp"

#include <string>

#include <nlohmann/json.hpp>

namespace beckon::retry {

using core::Fault;
using Json = nlohmann::json;

namespace {

constexpr std::string_view kChangedType = "beckon.webhooks.changed.v1";
constexpr std::string_view kChangedPrefix = "!webhooks/";

}  // namespace

core::Record encode(const WebhooksChanged& changed, std::string_view node) {
    Json below = Json::object();
    for (const auto& [partition, offset] : changed.below) {
        below[std::to_string(partition)] = offset;
    }
    return core::state_record(std::string{kChangedPrefix}.append(node), kChangedType,
                              core::json_text(Json{{"below", std::move(below)}}));
}

core::Result<WebhooksChanged> decode_webhooks_changed(const core::RecordView& record) {
    if (record.header(core::header::kType) != kChangedType) {
        return core::fail(Fault::not_found, "another kind of record");
    }
    try {
        const auto value = core::must_parse_json(record.value.value_or(""));
        WebhooksChanged changed;
        for (const auto& [name, offset] : value.at("below").items()) {
            const auto partition = core::parse_decimal<core::Partition>(name);
            if (!partition || *partition < 0)
                return core::fail(Fault::corrupt, "no partition: " + name);
            changed.below[*partition] = core::whole_number<core::Offset>(offset);
        }
        return changed;
    } catch (const Json::exception& fault) {
        return core::fail(Fault::corrupt, "a change of webhooks that does not decode: " +
                                              std::string{fault.what()});
    }
}

}  // namespace beckon::retry
