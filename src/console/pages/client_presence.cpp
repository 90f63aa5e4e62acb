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

constexpr const char* kHere = "127.0.0.1:";

bool is_true(const nlohmann::json& page, const char* name) {
    if (!page.is_object()) return false;
    const auto found = page.find(name);
    return found != page.end() && found->is_boolean() && found->get<bool>();
}

}  // namespace

std::optional<Presence> parse_presence(const std::string& json) {
    const auto page = core::parse_json(json);
    if (!is_true(page, "served")) return std::nullopt;
    Presence found{.connected = is_true(page, "connected"),
                   .edge = core::text_member(page, "edge"),
                   .problem = {}};
    const auto number = [&](const char* name) -> std::optional<std::int64_t> {
        if (!page.contains(name)) return std::nullopt;
        return core::find_whole_number<std::int64_t>(page[name]);
    };
    found.since_ms = number("attached_since");
    found.unanswered =
        static_cast<std::uint64_t>(std::max<std::int64_t>(0, number("unanswered").value_or(0)));
    return found;
}

ClientPresence::ClientPresence(std::optional<std::uint16_t> own_port,
                               std::shared_ptr<const core::KeyRing> keys)
    : standalone_(own_port.has_value()), keys_(std::move(keys)) {
    if (own_port) edges_ = {kHere + std::to_string(*own_port)};
}

void ClientPresence::use_edges(const std::vector<std::string>& ops_ports) {
    if (standalone_) return;
    const std::scoped_lock lock{mutex_};
    edges_.assign(ops_ports.begin(), ops_ports.begin() + static_cast<std::ptrdiff_t>(std::min(
                                                             kEdgesMax, ops_ports.size())));
}

core::Result<std::string> ClientPresence::ask_home(const std::string& target,
                                                   std::chrono::milliseconds timeout) const {
    std::vector<std::string> edges;
    {
        const std::scoped_lock lock{mutex_};
        edges = edges_;
    }
    for (const auto& at : edges) {
        client::ApiClient edge{{.origin = "http://" + at,
                                .token = inspect::log_proof(*keys_),
                                .ca_file = {},
                                .insecure = false,
                                .timeout = timeout,
                                .patience = std::chrono::milliseconds{0}}};
        const auto answer = edge.ask({.path = target});
        if (answer && answer->good() && is_true(core::parse_json(answer->body), "served")) {
            return answer->body;
        }
    }
    if (edges.empty()) return core::fail(core::Fault::unavailable, "no edge is known");
    std::string tried;
    for (const auto& at : edges) tried += (tried.empty() ? "" : ", ") + at;
    return core::fail(core::Fault::unavailable,
                      "no edge that answers at its ops port (" + tried + ") serves it");
}

Presence ClientPresence::of(const core::Uaid& client) const {
    const auto answer = ask_home("/delivery/client?uaid=" + core::to_hex(client));
    if (!answer) return {.edge = {}, .problem = answer.error().message};
    return parse_presence(*answer).value_or(Presence{.edge = {}, .problem = "no answer"});
}

}  // namespace beckon::console
