#include "console/pages/client_presence.hpp"

#include "client/api_client.hpp"
#include "core/json_member.hpp"
#include "core/json_text.hpp"
#include "core/whole_number.hpp"
#include "inspect/log/log_service.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include <nlohmann/json.hpp>

namespace beckon::console {

namespace {

constexpr std::chrono::milliseconds kEdgeTimeout{1'000};
constexpr const char* kHere = "127.0.0.1";

/// Without its port; IPv6 keeps its brackets.
std::string host_of(const std::string& address) { return address.substr(0, address.rfind(':')); }

}  // namespace

std::optional<Presence> parse_presence(const std::string& json) {
    const auto page = core::parse_json(json);
    const auto is_true = [&](const char* name) {
        return page.contains(name) && page[name].is_boolean() && page[name].get<bool>();
    };
    if (!page.is_object() || !is_true("served")) return std::nullopt;
    Presence found{
        .connected = is_true("connected"), .edge = core::text_member(page, "edge"), .problem = {}};
    const auto number = [&](const char* name) -> std::optional<std::int64_t> {
        if (!page.contains(name)) return std::nullopt;
        return core::find_whole_number<std::int64_t>(page[name]);
    };
    found.since_ms = number("attached_since");
    found.unanswered =
        static_cast<std::uint64_t>(std::max<std::int64_t>(0, number("unanswered").value_or(0)));
    return found;
}

ClientPresence::ClientPresence(std::uint16_t port, bool standalone,
                               std::shared_ptr<const core::KeyRing> keys)
    : port_(port), standalone_(standalone), keys_(std::move(keys)) {
    if (standalone_) hosts_ = {kHere};
}

void ClientPresence::use_edges(const std::vector<std::string>& link_addresses) {
    if (standalone_) return;
    std::vector<std::string> hosts;
    for (const auto& address : link_addresses) {
        if (hosts.size() < kEdgesMax) hosts.push_back(host_of(address));
    }
    const std::scoped_lock lock{mutex_};
    hosts_ = std::move(hosts);
}

Presence ClientPresence::of(const core::Uaid& client) const {
    std::vector<std::string> hosts;
    {
        const std::scoped_lock lock{mutex_};
        hosts = hosts_;
    }
    if (port_ == 0) hosts.clear();
    for (const auto& host : hosts) {
        client::ApiClient edge{{.origin = "http://" + host + ":" + std::to_string(port_),
                                .token = inspect::log_proof(*keys_),
                                .ca_file = {},
                                .insecure = false,
                                .timeout = kEdgeTimeout,
                                .patience = std::chrono::milliseconds{0}}};
        const auto answer = edge.ask({.path = "/delivery/client?uaid=" + core::to_hex(client)});
        if (!answer || !answer->good()) continue;
        if (auto found = parse_presence(answer->body)) return *found;
    }
    return {.edge = {},
            .problem = hosts.empty() ? "the console knows no edge"
                                     : "no edge that the console reaches at port " +
                                           std::to_string(port_) + " (ops.port) serves it"};
}

}  // namespace beckon::console
