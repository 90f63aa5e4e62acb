#include "console/pages/client_homes.hpp"

#include "client/api_client.hpp"
#include "core/ascii.hpp"
#include "core/json_member.hpp"
#include "core/json_text.hpp"
#include "inspect/log/log_service.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include <nlohmann/json.hpp>

namespace beckon::console {

namespace {

constexpr const char* kHere = "127.0.0.1:";

bool is_served(const std::string& answer) {
    const auto page = core::parse_json(answer);
    const auto* served = core::find_member(page, "served");
    return served && served->is_boolean() && served->get<bool>();
}

}  // namespace

ClientHomes::ClientHomes(std::optional<std::uint16_t> own_port,
                         std::shared_ptr<const core::KeyRing> keys)
    : standalone_(own_port.has_value()), keys_(std::move(keys)) {
    if (own_port) edges_ = {kHere + std::to_string(*own_port)};
}

void ClientHomes::use_edges(const std::vector<std::string>& ops_ports) {
    if (standalone_) return;
    const std::scoped_lock lock{mutex_};
    edges_.assign(ops_ports.begin(), ops_ports.begin() + static_cast<std::ptrdiff_t>(std::min(
                                                             kEdgesMax, ops_ports.size())));
}

core::Result<std::string> ClientHomes::ask_home(const std::string& target,
                                                std::chrono::milliseconds timeout) const {
    std::vector<std::string> edges;
    {
        const std::scoped_lock lock{mutex_};
        edges = edges_;
    }
    for (const auto& at : edges) {
        client::ApiClient edge{{.origin = "http://" + at,
                                .token = inspect::log_proof(*keys_),
                                .timeout = timeout,
                                .patience = {}}};
        const auto answer = edge.ask({.path = target});
        if (answer && answer->good() && is_served(answer->body)) {
            return answer->body;
        }
    }
    if (edges.empty()) return core::fail(core::Fault::unavailable, "no edge is known");
    return core::fail(core::Fault::unavailable, "no edge that answers at its ops port (" +
                                                    core::joined(edges, ", ") + ") serves it");
}

}  // namespace beckon::console
