#include "records/channel.hpp"

#include "core/json_member.hpp"
#include "core/json_text.hpp"
#include "records/fields.hpp"
#include "records/log_key.hpp"

#include <nlohmann/json.hpp>

namespace beckon::core {

namespace {

constexpr std::string_view kChannel = "beckon.channel.v1";

std::string channel_log_key(const Uaid& uaid, const ChannelId& channel) {
    std::string out;
    out.reserve(kHexSize + 1 + kDashedSize);
    append_hex(out, uaid.bytes);
    out.push_back('/');
    append_dashed(out, channel.bytes);
    return out;
}

}  // namespace

Record encode(const ChannelRecorded& event) {
    Json value{{"created", to_ms(event.created)}};
    if (event.vapid_sha256) value["vapid_sha256"] = *event.vapid_sha256;
    return state_record(channel_log_key(event.uaid, event.channel), kChannel,
                        core::json_text(value), event.stamp);
}

Record encode(const ChannelRemoved& event) {
    return state_record(channel_log_key(event.uaid, event.channel), kChannel, std::nullopt,
                        event.stamp);
}

std::string_view read_record(const RecordView& record, std::string& scratch,
                             ChannelRecorded& into) {
    const HeaderScan headers{record.headers};
    if (other_type(headers, kChannel)) return "unknown event type";
    if (const auto why = read_stamp(headers, into.stamp); !why.empty()) return why;
    const auto [json, why] = parse_object(*record.value);
    if (!why.empty()) return why;
    const auto created = read_time(json, "created");
    if (!created) return "channel lacks created";
    into.created = *created;
    if (find_member(json, "vapid_sha256")) {
        const std::string* sha = find_text(json, "vapid_sha256");
        if (!sha || !parse_sha256(*sha)) return "vapid_sha256 is not 64 hex digits";
        scratch = *sha;
        into.vapid_sha256 = scratch;
    }
    return {};
}

std::string_view read_record(const RecordView& record, ChannelRemoved& into) {
    return read_stamp(HeaderScan{record.headers}, into.stamp);
}

}  // namespace beckon::core
