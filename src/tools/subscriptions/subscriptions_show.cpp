#include "app/exit_codes.hpp"
#include "app/installation/key_ring_guard.hpp"
#include "app/process/process.hpp"
#include "console/cluster/cluster_json.hpp"
#include "core/json_text.hpp"
#include "core/log_names.hpp"
#include "core/time_text.hpp"
#include "core/tokens.hpp"
#include "tools/running/ownership.hpp"
#include "tools/running/tool_log.hpp"
#include "tools/subscriptions/subscriptions_tool.hpp"

#include <algorithm>
#include <chrono>
#include <iostream>

#include <nlohmann/json.hpp>

namespace beckon::tools {

namespace {

constexpr std::chrono::milliseconds kTimeout{10'000};
constexpr std::size_t kMessagesShown = 20;

}  // namespace

Whom parse_whom(const app::Config& config, const std::string& text) {
    if (const auto uaid = core::parse_uuid(text)) return {core::Uaid{*uaid}, std::nullopt};
    core::Tokens tokens{app::load_key_ring(config)};
    const auto endpoint = tokens.open_endpoint(text.substr(text.rfind('/') + 1),
                                               core::Tokens::Form::any, core::SystemClock{}.wall());
    if (!endpoint) {
        throw app::StartupError("'" + text +
                                    "' is neither a UAID (32 hex digits, dashes allowed) " +
                                    "nor an endpoint URL of this installation",
                                app::kWrongOptions);
    }
    return {endpoint->uaid, endpoint->channel};
}

namespace {

std::string seconds_text(core::Timestamp from, core::Timestamp to) {
    return std::to_string(std::chrono::duration_cast<std::chrono::seconds>(to - from).count()) +
           " s";
}

std::string client_line(const std::optional<store::StoredClient>& client) {
    if (!client) {
        return "The log has no such client: it never registered, was removed, or is purged.\n";
    }
    return "It speaks " + std::string{to_string(client->router_type)} + ", was made at " +
           core::time_text(client->created) + " and last seen at " +
           core::time_text(client->last_seen) + ".\n";
}

std::string channel_line(const store::StoredChannel& channel, bool asked) {
    return "  channel " + core::to_dashed(channel.channel) + ", made at " +
           core::time_text(channel.created) +
           (channel.vapid_sha256.empty() ? "" : ", for one VAPID key only") +
           (asked ? "  <- the endpoint's\n" : "\n");
}

std::string message_line(const inspect::WaitingMessage& message, core::Timestamp now) {
    return "  message " + core::log_name(message.key) + " for channel " +
           core::to_dashed(message.channel) + ": " + std::to_string(message.bytes) +
           " bytes, accepted " + seconds_text(message.appended, now) + " ago, expires in " +
           seconds_text(now, message.expires) +
           (message.topic.empty() ? "\n" : ", Topic " + message.topic + "\n");
}

std::string waiting_lines(const inspect::ClientState& state) {
    if (state.waiting.empty()) return "Nothing waits for it.\n";
    std::string text = state.waiting.size() == 1
                           ? "1 message waits for it:\n"
                           : std::to_string(state.waiting.size()) + " messages wait for it:\n";
    const auto shown = std::min(state.waiting.size(), kMessagesShown);
    for (std::size_t i = 0; i < shown; ++i) text += message_line(state.waiting[i], state.at);
    if (shown < state.waiting.size()) {
        text += "  and " + std::to_string(state.waiting.size() - shown) +
                " more: beckon replay state --json shows all\n";
    }
    return text;
}

}  // namespace

std::string state_text(const core::Uaid& client, const std::optional<core::ChannelId>& asked,
                       const inspect::ClientState& state) {
    auto text =
        "Log lines call this client " + core::log_name(client) + ".\n" + client_line(state.client);
    if (!state.client) return text;
    bool found = false;
    text += "It has " + std::to_string(state.channels.size()) +
            (state.channels.size() == 1 ? " channel" : " channels") +
            (state.channels.empty() ? ".\n" : ":\n");
    for (const auto& channel : state.channels) {
        const bool is_asked = asked == channel.channel;
        found = found || is_asked;
        text += channel_line(channel, is_asked);
    }
    if (asked && !found) {
        text += "The endpoint's channel " + core::to_dashed(*asked) +
                " is not among them: senders get 410 for it.\n";
    }
    return text + waiting_lines(state);
}

std::string connection_text(const nlohmann::json& page, const std::string& why_not) {
    if (!page.is_object()) return "Whether it is connected is not known: " + why_not + "\n";
    if (!page.value("connected", false)) return "It is not connected now.\n";
    auto text = "It is connected, at least since " +
                core::time_text(time_in(page, "attached_since")) + ", at the edge " +
                page.value("edge", std::string{"?"});
    const auto unanswered = page.value("unanswered", std::size_t{0});
    if (unanswered == 0) return text + ".\n";
    text += ", and has not answered " + std::to_string(unanswered) + " messages that were sent";
    const auto sent = page.find("sent");
    if (sent != page.end() && sent->is_array() && !sent->empty()) {
        text += ", the first at " + core::time_text(time_in(sent->front(), "at"));
    }
    return text + ".\n";
}

int subscriptions_show(const app::Config& config, const std::string& whom, bool json) {
    const auto named = parse_whom(config, whom);  // refused before a broker is asked
    ToolLog log{config};
    const auto state =
        app::must(inspect::state_of_client(log.log(), named.client, core::SystemClock{}.wall(),
                                           log.control().partitions, {.timeout = kTimeout}));
    EdgePage edge{.why_not = "it is not of this installation"};
    if (state.client) {
        edge = ask_home(log, config, "/delivery/client?uaid=" + core::to_hex(named.client));
    }
    const auto refused =
        named.channel ? refused_posts(log, config, whom) : std::vector<console::RefusedFacts>{};
    if (json) {
        auto object = inspect::state_json(named.client, state);
        object["connection"] =
            edge.page.is_object() ? nlohmann::ordered_json(edge.page) : nlohmann::ordered_json();
        object["refused"] = console::refused_json(refused);
        std::cout << core::json_text(object) << "\n";
    } else {
        std::cout << state_text(named.client, named.channel, state)
                  << (state.client ? connection_text(edge.page, edge.why_not) : "")
                  << (named.channel ? console::to_text(refused) : "");
    }
    return state.client ? app::kDone : app::kNothingFound;
}

}  // namespace beckon::tools
