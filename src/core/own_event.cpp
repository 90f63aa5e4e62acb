#include "core/own_event.hpp"

#include "core/codec.hpp"

#include <nlohmann/json.hpp>

namespace beckon::core {

namespace {

/// The type of every record in `events`; the event's own stands in the event.
constexpr std::string_view kRecordType = "beckon.event.v1";

}  // namespace

Record encode(const OwnEvent& event) {
    const nlohmann::json json{{"specversion", "1.0"},       {"id", event.id},
                              {"source", event.source},     {"type", event.type},
                              {"subject", event.subject},   {"datacontenttype", "application/json"},
                              {"beckonowner", event.owner}, {"data", event.data}};
    Record record{.key = event.id, .value = json.dump(), .headers = {}};
    record.headers.push_back({header::kSpecVersion, "1.0"});
    record.headers.push_back({header::kType, std::string{kRecordType}});
    record.headers.push_back({header::kContentType, "application/json"});
    return record;
}

Partition partition_of(const OwnEvent& event, Partition partitions) {
    auto key = event.source;
    key.append(1, '\0').append(event.id);
    return partition_of(key, partitions);
}

}  // namespace beckon::core
