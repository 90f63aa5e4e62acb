#pragma once

#include "core/clock.hpp"
#include "core/ids.hpp"
#include "core/record.hpp"
#include "records/write_stamp.hpp"

#include <optional>
#include <string>
#include <string_view>

/// The record of a channel in `subscriptions` (schemas/channel.v1.json). Text members are views, as
/// those of a message.
namespace beckon::core {

/// beckon.channel.v1: key <uaid>/<chid>. Published after its client's record.
struct ChannelRecorded {
    Uaid uaid{};
    ChannelId channel{};
    Timestamp created{};
    std::optional<std::string_view> vapid_sha256{};  ///< hex, 64 characters
    std::optional<WriteStamp> stamp{};
    bool operator==(const ChannelRecorded&) const = default;
};

/// beckon.channel.v1 with a null value.
struct ChannelRemoved {
    Uaid uaid{};
    ChannelId channel{};
    std::optional<WriteStamp> stamp{};
    bool operator==(const ChannelRemoved&) const = default;
};

Record encode(const ChannelRecorded& event);
Record encode(const ChannelRemoved& event);

/// Fill `into`, which has the ids of the record's key, from headers and value. Both return why the
/// record cannot be read, or an empty text. The first one is for a record with a value; the views
/// of its event may point into `scratch`.
std::string_view read_record(const RecordView& record, std::string& scratch, ChannelRecorded& into);
std::string_view read_record(const RecordView& record, ChannelRemoved& into);

}  // namespace beckon::core
