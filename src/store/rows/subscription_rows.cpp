#include "store/rows/row_bytes.hpp"
#include "store/rows/schema.hpp"

namespace beckon::store {

using core::Timestamp;

namespace {

void append_stamp(std::string& out, const std::optional<core::WriteStamp>& stamp) {
    out.push_back(stamp ? '\1' : '\0');
    if (!stamp) return;
    core::append_fixed(out, stamp->epoch);
    core::append_fixed(out, stamp->seq);
}

std::optional<core::WriteStamp> parse_stamp(RowReader& in) {
    if (in.byte() == '\0') return std::nullopt;
    core::WriteStamp stamp;
    stamp.epoch = in.fixed<std::uint64_t>();
    stamp.seq = in.fixed<std::uint64_t>();
    return stamp;
}

}  // namespace

void append_client_row(std::string& out, const ClientRow& row) {
    out.push_back(row.live ? form::kClient : form::kRemoved);
    append_time(out, row.live ? Timestamp{} : row.until);
    append_stamp(out, row.stamp);
    if (!row.live) return;
    out.push_back(static_cast<char>(row.live->router_type));
    append_time(out, row.live->created);
    append_time(out, row.live->last_seen);
    out.append(row.live->router_data);
}

std::optional<ClientRow> parse_client_row(std::string_view value) {
    ClientRow row;
    RowReader in{value};
    const char first = in.byte();
    if (first != form::kClient && first != form::kRemoved) return std::nullopt;
    row.until = in.time();
    row.stamp = parse_stamp(in);
    if (first == form::kRemoved) return in.finished() ? std::optional{row} : std::nullopt;
    StoredClient client;
    const auto type = static_cast<unsigned char>(in.byte());
    if (type > static_cast<unsigned char>(core::RouterType::webhook)) return std::nullopt;
    client.router_type = static_cast<core::RouterType>(type);
    client.created = in.time();
    client.last_seen = in.time();
    client.router_data = in.take_rest();
    client.stamp = row.stamp;
    if (!in.good()) return std::nullopt;
    row.live = std::move(client);
    return row;
}

void append_channel_row(std::string& out, const ChannelRow& row) {
    out.push_back(row.live ? form::kChannel : form::kRemoved);
    append_time(out, row.live ? Timestamp{} : row.until);
    append_stamp(out, row.stamp);
    if (!row.live) return;
    append_time(out, row.live->created);
    out.append(row.live->vapid_sha256);
}

std::optional<ChannelRow> parse_channel_row(std::string_view row_key, std::string_view value) {
    if (row_key.size() != kPrefixBytes + 16) return std::nullopt;
    ChannelRow row;
    RowReader in{value};
    const char first = in.byte();
    if (first != form::kChannel && first != form::kRemoved) return std::nullopt;
    row.until = in.time();
    row.stamp = parse_stamp(in);
    if (first == form::kRemoved) return in.finished() ? std::optional{row} : std::nullopt;
    StoredChannel channel;
    channel.channel.bytes = id_of_row(row_key);
    channel.created = in.time();
    channel.vapid_sha256 = in.take_rest();
    channel.stamp = row.stamp;
    if (!in.good()) return std::nullopt;
    row.live = std::move(channel);
    return row;
}

void append_stale_write(std::string& out) {
    out.push_back(form::kStaleWrite);
    append_time(out, Timestamp{});
}

std::optional<StaleWrite> parse_stale_write(std::string_view row_key, std::string_view value) {
    RowReader in{value};
    if (in.byte() != form::kStaleWrite) return std::nullopt;
    in.time();
    const bool of_channel = row_key.size() == kPrefixBytes + sizeof(core::Bytes16);
    if (!in.finished() || (row_key.size() != kPrefixBytes && !of_channel)) return std::nullopt;
    StaleWrite what{.uaid = uaid_of_row(row_key), .channel = std::nullopt};
    if (of_channel) what.channel = core::ChannelId{id_of_row(row_key)};
    return what;
}

}  // namespace beckon::store
