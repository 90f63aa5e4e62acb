#include "tools/subscriptions/import_file.hpp"

#include "core/json_depth.hpp"
#include "core/json_text.hpp"
#include "records/fields.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

namespace beckon::tools {

namespace {

/// The year 2106; a time in milliseconds is above it from 50 days after 1970 on.
constexpr std::uint64_t kLastSeenMax = 4'294'967'295;
/// Of a line: less than a record of `subscriptions` may have, which holds the router data again.
constexpr std::size_t kLineDepthMax = 16;
/// Bytes of router data as text: a token and an `aps` have some hundreds.
constexpr std::size_t kRouterDataMax = 16'384;
/// `messages`, which an export may have, is passed over.
constexpr std::array<std::string_view, 7> kMembers{
    "uaid", "channelIDs", "router_type", "router_data", "last_seen", "vapid_sha256", "messages"};

tl::unexpected<core::Error> wrong_line(std::string what) {
    return core::fail(core::Fault::invalid, std::move(what));
}

std::optional<std::array<std::uint8_t, 16>> uuid_of(const nlohmann::json& value) {
    if (!value.is_string()) return std::nullopt;
    return core::parse_uuid(value.get_ref<const std::string&>());
}

core::Result<void> read_router(const nlohmann::json& object, ImportedClient& client) {
    const auto type = object.value("router_type", nlohmann::json("webpush"));
    const auto known = type.is_string()
                           ? core::parse_router_type(type.get_ref<const std::string&>())
                           : std::nullopt;
    if (!known) return wrong_line("router_type must be webpush, fcm, apns or webhook");
    client.router_type = *known;
    const auto data = object.find("router_data");
    const bool bridged = *known != core::RouterType::webpush;
    if (bridged != (data != object.end() && data->is_object())) {
        return wrong_line(bridged ? "router_data must be an object, with the bridge's token"
                                  : "router_data is not for webpush clients");
    }
    if (!bridged) return {};
    client.router_data = core::json_text(*data);
    if (client.router_data->size() > kRouterDataMax) {
        return wrong_line("router_data must have at most 16,384 bytes");
    }
    return {};
}

core::Result<void> read_keys(const nlohmann::json& object, ImportedClient& client) {
    const auto keys = object.find("vapid_sha256");
    if (keys == object.end()) return {};
    if (!keys->is_object()) return wrong_line("vapid_sha256 must be an object, by channel");
    for (const auto& [name, value] : keys->items()) {
        const auto channel = core::parse_uuid(name);
        const auto* hash = value.get_ptr<const std::string*>();
        if (!channel || !hash || !core::parse_sha256(*hash)) {
            return wrong_line("vapid_sha256 must have 64 hex digits for each of its channels");
        }
        client.vapid_sha256.emplace(core::ChannelId{*channel}, *hash);
    }
    return {};
}

}  // namespace

core::Result<ImportedClient> parse_client(const std::string& line) {
    if (core::is_nested_deeper(line, kLineDepthMax)) {
        return wrong_line("nested too deeply: 16 levels are allowed");
    }
    const auto object = core::parse_json(line);
    if (!object.is_object()) return wrong_line("not a JSON object");
    for (const auto& item : object.items()) {
        if (std::ranges::find(kMembers, item.key()) == kMembers.end()) {
            return wrong_line(
                "unknown member \"" + item.key() +
                "\"; allowed are uaid, channelIDs, router_type, router_data, last_seen, "
                "vapid_sha256, messages");
        }
    }
    ImportedClient client;
    const auto uaid = uuid_of(object.value("uaid", nlohmann::json{}));
    if (!uaid) return wrong_line("uaid must be a UUID");
    client.uaid = core::Uaid{*uaid};
    const auto channels = object.find("channelIDs");
    if (channels == object.end() || !channels->is_array()) {
        return wrong_line("channelIDs must be a list of UUIDs");
    }
    for (const auto& item : *channels) {
        const auto channel = uuid_of(item);
        if (!channel) return wrong_line("channelIDs must be a list of UUIDs");
        client.channels.push_back(core::ChannelId{*channel});
    }
    // autopush's lists have a channel as often as its client has registered it.
    std::ranges::sort(client.channels);
    client.channels.erase(std::unique(client.channels.begin(), client.channels.end()),
                          client.channels.end());
    if (const auto seen = object.find("last_seen"); seen != object.end()) {
        if (!seen->is_number_unsigned()) return wrong_line("last_seen must be seconds since 1970");
        const auto seconds = seen->get<std::uint64_t>();
        if (seconds > kLastSeenMax) {
            return wrong_line("last_seen must be seconds since 1970; " + std::to_string(seconds) +
                              " looks like milliseconds");
        }
        client.last_seen = core::Timestamp{std::chrono::seconds{seconds}};
    }
    if (const auto read = read_keys(object, client); !read) return core::fail(read.error());
    if (const auto read = read_router(object, client); !read) return core::fail(read.error());
    return client;
}

}  // namespace beckon::tools
