#include "app/command/output.hpp"
#include "app/command_line.hpp"
#include "app/exit_codes.hpp"
#include "app/installation/installation.hpp"
#include "app/installation/key_ring_guard.hpp"
#include "core/base64url.hpp"
#include "core/json_text.hpp"
#include "core/percent.hpp"
#include "core/time_text.hpp"
#include "core/tokens.hpp"
#include "inspect/log/log_service.hpp"
#include "log/control.hpp"
#include "tools/commands.hpp"
#include "tools/running/ops_client.hpp"
#include "tools/running/tool_log.hpp"
#include "tools/subscriptions/subscriptions_tool.hpp"

#include <chrono>
#include <string>
#include <variant>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

namespace beckon::tools {

namespace {

constexpr std::chrono::milliseconds kSendersAnswer{10'000};
constexpr std::size_t kPointBytes = 65;

/// The sender that a person names: one of the three.
struct SenderOptions {
    std::string vapid;
    std::string subscription;
    std::string owner;
    std::string why;
};

[[noreturn]] void refuse_sender(const std::string& why) {
    throw app::StartupError(why, app::kWrongOptions);
}

/// A VAPID public key, or its hash as lists have it.
std::string hash_of_key(const std::string& text) {
    if (core::check(core::BlockedSender{.name = text})) return text;
    const auto point = core::parse_base64_any(text);
    if (!point || point->size() != kPointBytes) {
        refuse_sender("'" + text +
                      "' is no VAPID public key (base64 of 65 bytes), nor the 64 hex digits of its "
                      "SHA-256");
    }
    return core::hex(core::sha256(*point));
}

core::BlockedSender sender_of(const app::Config& config, const SenderOptions& named) {
    core::BlockedSender sender{.since = core::SystemClock{}.wall(), .why = named.why};
    if (!named.vapid.empty()) {
        sender.kind = core::SenderKind::vapid;
        sender.name = hash_of_key(named.vapid);
    } else if (!named.subscription.empty()) {
        const auto whom = parse_whom(config, named.subscription);
        if (!whom.channel) refuse_sender("--subscription needs an endpoint URL: a UAID has many");
        sender.kind = core::SenderKind::subscription;
        sender.name = core::subscription_name(whom.client, *whom.channel);
    } else if (!named.owner.empty()) {
        sender.kind = core::SenderKind::owner;
        sender.name = named.owner;
    } else {
        refuse_sender("name the sender with --vapid, --subscription or --owner");
    }
    return sender;
}

/// On Kafka through the log, else through the running standalone, else through its log while it is
/// stopped. Throws StartupError.
void write(const app::Config& config, const core::SenderRule& rule) {
    if (const auto good = core::check(rule); !good) refuse_sender(good.error().message);
    if (!is_served(config)) {
        app::Installation installation{config};
        static_cast<void>(installation.control());  // there is an installation
        return app::must(log::write_sender_rule(installation.log(), rule, kSendersAnswer));
    }
    const auto record = core::encode(rule);
    auto target = "/log/sender?key=" + core::percent_encoded(record.key);
    if (record.value) target += "&value=" + core::percent_encoded(*record.value);
    const auto reply =
        ask_ops_port(config.ops, target, inspect::log_proof(*app::load_key_ring(config)));
    if (reply.status == net::kOk) return;
    throw app::StartupError(
        "the process at the ops port refused it: " +
        (reply.body.is_object() ? reply.body.value("error", "") : std::to_string(reply.status)));
}

std::string named(const core::BlockedSender& sender) {
    return std::string{to_string(sender.kind)} + " " + sender.name;
}

int block(const app::Config& config, const SenderOptions& options) {
    const auto sender = sender_of(config, options);
    write(config, sender);
    app::print_line("blocked: " + named(sender));
    return app::kDone;
}

int unblock(const app::Config& config, const SenderOptions& options) {
    auto sender = sender_of(config, options);
    sender.blocked = false;
    write(config, sender);
    app::print_line("not blocked: " + named(sender));
    return app::kDone;
}

int set_limit(const app::Config& config, const std::string& kind, std::uint32_t per_second) {
    const core::SenderLimit limit{.kind = *core::value_named<core::SenderKind>(kind),
                                  .per_second = per_second};
    write(config, limit);
    app::print_line(per_second == 0 ? "no limit: " + kind
                                    : "limit: " + kind + " " + std::to_string(per_second) +
                                          " messages a second at each endpoint");
    return app::kDone;
}

nlohmann::json rule_json(const core::SenderRule& rule) {
    if (const auto* sender = std::get_if<core::BlockedSender>(&rule)) {
        return {{"blocked", to_string(sender->kind)},
                {"name", sender->name},
                {"since", core::time_text(sender->since)},
                {"why", sender->why}};
    }
    const auto& limit = std::get<core::SenderLimit>(rule);
    return {{"limit", to_string(limit.kind)}, {"per_second", limit.per_second}};
}

std::string rule_line(const core::SenderRule& rule) {
    if (const auto* sender = std::get_if<core::BlockedSender>(&rule)) {
        return "blocked  " + named(*sender) + "  since " + core::time_text(sender->since) +
               (sender->why.empty() ? "" : "  " + sender->why);
    }
    const auto& limit = std::get<core::SenderLimit>(rule);
    return "limit    " + std::string{to_string(limit.kind)} + "  " +
           std::to_string(limit.per_second) + " messages a second at each endpoint";
}

int list(const app::Config& config, bool json) {
    ToolLog log{config};
    const auto rules =
        app::must(log::read_sender_rules(log.log(), kSendersAnswer), "cannot read control: ");
    for (const auto& rule : rules) {
        app::print_line(json ? core::json_text(rule_json(rule)) : rule_line(rule));
    }
    return rules.empty() ? app::kNothingFound : app::kDone;
}

void add_sender_options(CLI::App& command, SenderOptions& options) {
    auto& vapid = *command.add_option(
        "--vapid", options.vapid, "The VAPID public key of an application server, or its SHA-256");
    auto& subscription = *command.add_option("--subscription", options.subscription,
                                             "An endpoint URL: nobody can send to it");
    auto& owner = *command.add_option("--owner", options.owner, "The owner of events for webhooks");
    vapid.excludes(&subscription)->excludes(&owner);
    subscription.excludes(&owner);
}

}  // namespace

void add_senders_command(app::CommandLine& line) {
    static SenderOptions options;
    static bool json = false;
    static std::string kind;
    static std::uint32_t per_second = 0;
    auto& group = line.add_group("senders", "Senders that are blocked, and their limits");
    auto& blocking =
        line.add(group, "block", "Refuse what a sender sends, with 403, at once", app::Reader::log,
                 [](const auto& config) { return block(config, options); });
    add_sender_options(blocking, options);
    blocking.add_option("--why", options.why, "For people, shown by list and by the console");
    auto& unblocking =
        line.add(group, "unblock", "Accept what a sender sends again", app::Reader::log,
                 [](const auto& config) { return unblock(config, options); });
    add_sender_options(unblocking, options);
    auto& limiting = line.add(
        group, "limit",
        "Limit the messages a second of each VAPID key, or for each subscription; more get 429",
        app::Reader::log, [](const auto& config) { return set_limit(config, kind, per_second); });
    limiting.add_option("KIND", kind, "vapid or subscription")
        ->required()
        ->check(CLI::IsMember({"vapid", "subscription"}));
    limiting
        .add_option("NUMBER", per_second,
                    "Messages a second at each endpoint: E of them allow E x NUMBER. 0: no limit")
        ->required();
    line.add(group, "list", "Show the senders that are blocked, and the limits", app::Reader::log,
             [](const auto& config) { return list(config, json); })
        .add_flag("--json", json, "One JSON object in each line");
}

}  // namespace beckon::tools
