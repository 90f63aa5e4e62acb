#pragma once

#include "core/clock.hpp"
#include "core/enum_names.hpp"
#include "core/ids.hpp"
#include "core/record.hpp"
#include "records/write_stamp.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// The record of a client in `subscriptions` (schemas/client.v1.json). Text members are views, as
/// those of a message.
namespace beckon::core {

enum class RouterType : std::uint8_t { webpush, fcm, apns, webhook };
inline std::string_view to_string(RouterType type) { return name_of(type); }
inline std::optional<RouterType> parse_router_type(std::string_view text) {
    return value_named<RouterType>(text);
}

/// beckon.client.v1: key <uaid>.
struct ClientRecorded {
    Uaid uaid{};
    RouterType router_type = RouterType::webpush;
    std::optional<std::string_view> router_data{};  ///< JSON object as text, bridged clients only
    Timestamp created{};
    Timestamp last_seen{};
    std::optional<WriteStamp> stamp{};
    bool operator==(const ClientRecorded&) const = default;
};

/// beckon.client.v1 with a null value: the client is gone. Its channels are dead from here
/// on.
struct ClientRemoved {
    Uaid uaid{};
    std::optional<WriteStamp> stamp{};
    bool operator==(const ClientRemoved&) const = default;
};

Record encode(const ClientRecorded& event);
Record encode(const ClientRemoved& event);

/// Fill `into`, which has the ids of the record's key, from headers and value. Both return why the
/// record cannot be read, or an empty text. The first one is for a record with a value; the views
/// of its event may point into `scratch`.
std::string_view read_record(const RecordView& record, std::string& scratch, ClientRecorded& into);
std::string_view read_record(const RecordView& record, ClientRemoved& into);

}  // namespace beckon::core
