#include "records/own_event.hpp"

#include "core/json_member.hpp"
#include "core/json_text.hpp"
#include "records/fields.hpp"
#include "records/headers.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace beckon::core {

namespace {

constexpr std::string_view kWebhookType = "beckon.webhook.v1";

/// `wanted` as a webhook names types: `order.created`, `order.*`, `*`.
bool is_wanted(std::string_view type, std::string_view wanted) {
    if (!wanted.ends_with('*')) return type == wanted;
    return type.starts_with(wanted.substr(0, wanted.size() - 1));
}

}  // namespace

Record encode(const OwnEvent& event) {
    const nlohmann::json json{{"specversion", "1.0"},       {"id", event.id},
                              {"source", event.source},     {"type", event.type},
                              {"subject", event.subject},   {"datacontenttype", "application/json"},
                              {"beckonowner", event.owner}, {"data", event.data}};
    return state_record(event.id, kEventRecordType, core::json_text(json));
}

Partition event_partition(std::string_view scope, std::string_view name, Partition partitions) {
    std::string key{scope};
    key.append(1, '\0').append(name);
    return partition_of(key, partitions);
}

Partition partition_of(const OwnEvent& event, Partition partitions) {
    return event_partition(event.source, event.id, partitions);
}

std::optional<std::string> owner_wanting(const RecordView& webhook, std::string_view type) {
    if (webhook.header(header::kType) != kWebhookType || !webhook.value) return std::nullopt;
    const auto value = parse_json(*webhook.value);
    if (!value.is_object()) return std::nullopt;
    const auto* owner = find_text(value, "owner");
    if (!owner) return std::nullopt;
    const auto types = value.find("types");
    const bool every = types == value.end() || !types->is_array() || types->empty();
    const auto wants = [type](const nlohmann::json& one) {
        return one.is_string() && is_wanted(type, one.get_ref<const std::string&>());
    };
    if (!every && std::none_of(types->begin(), types->end(), wants)) return std::nullopt;
    return *owner;
}

}  // namespace beckon::core
