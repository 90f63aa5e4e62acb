#include "console/pages/finder.hpp"

#include "console/cluster/cluster_json.hpp"
#include "core/ascii.hpp"
#include "core/decimal.hpp"
#include "core/json_member.hpp"
#include "core/json_text.hpp"
#include "core/log_names.hpp"
#include "core/logger.hpp"
#include "inspect/trace/client_trace.hpp"
#include "inspect/trace/trace_words.hpp"
#include "records/events.hpp"
#include "records/log_key.hpp"

#include <algorithm>
#include <optional>
#include <string_view>

#include <nlohmann/json.hpp>

namespace beckon::console {

namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr std::size_t kTextMax = 2'048;
constexpr std::chrono::seconds kBeforeFirst{1};
/// Within a stop's time: a thread waits for the home as long.
constexpr std::chrono::milliseconds kHomeWithin{8'000};
constexpr const char* kNothing = "nothing of this installation has this name";

std::string text_of(const Parameters& asked, const char* name) {
    const auto found = asked.find(name);
    return found == asked.end()
               ? std::string{}
               : std::string{
                     core::trimmed(std::string_view{found->second}.substr(0, kTextMax), " \t\r\n")};
}

std::optional<core::Timestamp> time_of(const std::string& text) {
    const auto ms = core::parse_decimal<std::int64_t>(text);
    return ms ? std::optional{core::Timestamp{std::chrono::milliseconds{*ms}}} : std::nullopt;
}

OrderedJson fact(const char* name, std::string value) {
    return {{"name", name}, {"value", std::move(value)}};
}

const char* kind_text(inspect::NameKind kind) {
    switch (kind) {
        case inspect::NameKind::endpoint: return "endpoint URL";
        case inspect::NameKind::message: return "message";
        case inspect::NameKind::client: return "UAID";
    }
    return "UAID";
}

OrderedJson facts_of(const inspect::Named& named, core::Partition partitions) {
    auto facts = OrderedJson::array();
    if (named.message)
        facts.push_back(fact("message in log lines", core::log_name(*named.message)));
    if (named.channel) facts.push_back(fact("channel", core::to_dashed(*named.channel)));
    facts.push_back(fact("client in log lines", core::log_name(named.client)));
    facts.push_back(
        fact("partition", std::to_string(core::partition_of(named.client, partitions))));
    if (named.kind == inspect::NameKind::endpoint) {
        facts.push_back(fact("bound to a VAPID key", named.bound_to_vapid_key ? "yes" : "no"));
    }
    return facts;
}

/// A record's place as steps show it, `notifications/3@17`; with `/client` behind it, its client.
struct Place {
    log::TopicPartition where;
    core::Offset offset = 0;
    bool client = false;
};

std::optional<Place> place_in(std::string_view text) {
    constexpr std::string_view kClientOf = "/client";
    const bool client = text.ends_with(kClientOf);
    if (client) text.remove_suffix(kClientOf.size());
    const auto slash = text.find('/');
    const auto at = text.find('@');
    if (slash == text.npos || at == text.npos || at < slash) return std::nullopt;
    const auto topic = log::Topic::parse(text.substr(0, slash));
    const auto partition =
        core::parse_decimal<core::Partition>(text.substr(slash + 1, at - slash - 1));
    const auto offset = core::parse_decimal<core::Offset>(text.substr(at + 1));
    if (!topic || !partition || *partition < 0 || !offset || *offset < 0) return std::nullopt;
    return Place{{*topic, *partition}, *offset, client};
}

/// The message or the client that a record is about.
std::optional<inspect::Named> named_by(log::TopicPartition where, const core::RecordView& record) {
    core::DecodeScratch scratch;
    if (where.topic == log::Topic::kNotifications) {
        const auto event = core::decode_notification(record, scratch);
        if (const auto* put = std::get_if<core::NotificationAccepted>(&event)) {
            return inspect::Named{
                .kind = inspect::NameKind::message, .client = put->uaid, .message = put->key};
        }
        if (const auto* end = std::get_if<core::NotificationFinished>(&event)) {
            return inspect::Named{
                .kind = inspect::NameKind::message, .client = end->uaid, .message = end->key};
        }
        return std::nullopt;
    }
    if (where.topic != log::Topic::kSubscriptions || core::is_control_key(record.key)) {
        return std::nullopt;
    }
    const auto uaid = core::parse_hex16(record.key.substr(0, core::kHexSize));
    if (!uaid) return std::nullopt;
    return inspect::Named{.kind = inspect::NameKind::client, .client = core::Uaid{*uaid}};
}

constexpr const char* kNobody =
    "the subscriptions have no client with this UAID, and the log has no message with this name";

/// Why a text names nothing.
const char* why_nothing(const std::string& text) {
    if (place_in(text)) {
        return "the log has no record of a message or a client there: it was compacted away, or "
               "another kind of record stands there";
    }
    if (text.starts_with("dlv_")) {
        return "this is the id of a webhook's delivery, and this page finds messages and clients: "
               "the page Webhooks shows the last deliveries of each webhook, the page Dead letters "
               "those that were given up";
    }
    return "this is no endpoint URL, message URL, message id, name of a message in log lines, "
           "reliability id or UAID of this installation. Webhooks and their deliveries are on the "
           "pages Webhooks and Dead letters";
}

/// The life of a message or client as JSON, or the reason why the log was not read.
using Found = core::Result<OrderedJson>;

Found life_of_message(log::EventLog& log, const inspect::Named& named,
                      const inspect::TraceOptions& options) {
    const auto trace = inspect::trace_message(log, {named.client, *named.message}, options);
    if (!trace) return core::fail(trace.error());
    return inspect::trace_json(*trace);
}

Found life_of_client(log::EventLog& log, const inspect::Named& named,
                     const inspect::TraceOptions& options, core::Timestamp since) {
    const auto trace = inspect::trace_client(log, named.client, {.trace = options, .since = since});
    if (!trace) return core::fail(trace.error());
    return inspect::trace_json(*trace);
}

OrderedJson sentences(const inspect::ClientState& state) {
    auto does = OrderedJson::array();
    if (!state.client) {
        does.push_back(
            "The log has no such client any more. Messages that a removal has left are finished.");
        return does;
    }
    does.push_back("The client ends with " +
                   core::counted(state.channels.size(), "channel", "channels") + " and " +
                   core::counted(state.waiting.size(), "waiting message", "waiting messages") +
                   ": senders get 410 from then on.");
    if (!state.client->router_data.empty()) does.push_back("The token of its bridge is forgotten.");
    does.push_back(
        "If it connects again it is told that it is unknown, and registers as a new client. This "
        "cannot be undone.");
    return does;
}

/// From when on a slider makes sense: a little before the first step, within the window.
core::Timestamp first_moment(const OrderedJson& trace, core::Timestamp window_begins) {
    if (trace.is_null() || trace["steps"].empty()) return window_begins;
    const core::Timestamp first{
        std::chrono::milliseconds{trace["steps"].front()["at"].get<std::int64_t>()}};
    return std::max(first - kBeforeFirst, window_begins);
}

}  // namespace

/// The message or the client of the record at a place in the log.
core::Result<std::optional<inspect::Named>> Finder::named_at(const std::string& text,
                                                             const inspect::ScanLimits& limits) {
    const auto place = place_in(text);
    if (!place) return std::optional<inspect::Named>{};
    std::optional<inspect::Named> found;
    const auto sink = [&](const core::RecordView& record) {
        if (record.offset == place->offset) found = named_by(place->where, record);
        return log::Next::stop;
    };
    const auto read = inspect::scan(read_.log, place->where, place->offset, sink, limits);
    if (!read && read.error().fault != core::Fault::not_found) return core::fail(read.error());
    if (found && (place->client || !found->message)) {
        found = inspect::Named{.kind = inspect::NameKind::client, .client = found->client};
    }
    return found;
}

core::Result<std::optional<inspect::Named>> Finder::named(const std::string& text,
                                                          const inspect::ScanLimits& limits) {
    if (place_in(text)) return named_at(text, limits);
    core::Tokens tokens{context_.keys};
    return inspect::find_name(
        tokens, read_.log, text,
        {.partitions = read_.layout.partitions, .now = read_.clock.wall(), .limits = limits});
}

Answer Finder::found(const std::string& text, const inspect::Named& named,
                     const inspect::ScanLimits& limits) {
    const auto ownership = context_.ownership ? context_.ownership() : nullptr;
    const auto now = read_.clock.wall();
    const auto window_begins = now - read_.layout.history_window;
    const inspect::TraceOptions options{.partitions = read_.layout.partitions,
                                        .now = now,
                                        .limits = limits,
                                        .homeless = [&](core::Partition partition) {
                                            return ownership &&
                                                   ownership->reader_of("edge", partition).dead;
                                        }};
    const auto life = named.kind == inspect::NameKind::message
                          ? life_of_message(read_.log, named, options)
                          : life_of_client(read_.log, named, options, window_begins);
    OrderedJson page{{"kind", kind_text(named.kind)},
                     {"facts", facts_of(named, read_.layout.partitions)}};
    page["trace"] = life ? *life : OrderedJson(nullptr);
    page["problem"] = life ? "" : life.error().message;
    if (named.kind != inspect::NameKind::message && context_.homes) {
        page["connection"] = connection_json(
            context_.homes->ask_home("/delivery/client?uaid=" + core::to_hex(named.client)));
    }
    if (named.kind == inspect::NameKind::endpoint && ownership) {
        const auto path = text.substr(0, text.find_first_of("?#"));
        page["refused"] = refused_json(ownership->refused(path.substr(path.rfind('/') + 1)));
    }
    page["from"] = first_moment(page["trace"], window_begins).time_since_epoch().count();
    page["until"] = now.time_since_epoch().count();
    return {200, core::json_text(page)};
}

Answer Finder::find(const Parameters& asked) {
    const auto limit = read_.reading.begin();
    const auto what = named(text_of(asked, "q"), limit);
    if (!what) return refused(net::kUnavailable, what.error().message);
    if (*what && (*what)->nobody) return refused(net::kNotFound, kNobody);
    if (*what) return found(text_of(asked, "q"), **what, limit);
    return refused(net::kNotFound, why_nothing(text_of(asked, "q")));
}

Answer Finder::state(const Parameters& asked) {
    const auto at = time_of(text_of(asked, "at"));
    if (!at) return refused(net::kBadRequest, "at must be a time in Unix milliseconds");
    const auto limit = read_.reading.begin();
    const auto what = named(text_of(asked, "q"), limit);
    if (!what) return refused(net::kUnavailable, what.error().message);
    if (!*what || (*what)->nobody) {
        return refused(net::kNotFound, kNothing);
    }
    const auto client = (*what)->client;
    const auto state =
        inspect::state_of_client(read_.log, client, *at, read_.layout.partitions, limit);
    if (!state) return refused(net::kUnavailable, state.error().message);
    return {net::kOk, core::json_text(inspect::state_json(client, *state))};
}

core::Result<core::Uaid> Finder::client_of(const std::string& text) {
    const auto what = named(text, read_.reading.begin());
    if (!what) return core::fail(what.error());
    if (!*what || (*what)->nobody) return core::fail(core::Fault::not_found, kNothing);
    return (*what)->client;
}

Plan Finder::plan_removal(const std::string& wanted) {
    const auto sought = core::text_member(core::parse_json(wanted), "q");
    if (sought.empty())
        return {refused(net::kBadRequest, R"($ must be {"q": what names the client})")};
    const auto client = client_of(sought);
    if (!client) return {refused(client.error())};
    const auto state = inspect::state_of_client(read_.log, *client, read_.clock.wall(),
                                                read_.layout.partitions, read_.reading.begin());
    if (!state) return {refused(state.error())};
    return {
        {net::kOk, core::json_text(OrderedJson{{"does", sentences(*state)}, {"possible", true}})},
        sought};
}

Answer Finder::remove(const std::string& sought, const std::string& by) {
    const auto client = client_of(sought);
    if (!client) return refused(client.error());
    const auto answer =
        context_.homes->ask_home("/delivery/remove?uaid=" + core::to_hex(*client), kHomeWithin);
    const auto page = core::parse_json(answer.value_or(""));
    const bool removed = page.is_object() && page.value("removed", false);
    core::log_info("console", "client_removal",
                   {{"by", by}, {"client", core::log_name(*client)}, {"removed", removed}});
    if (!answer) return refused(net::kUnavailable, answer.error().message);
    if (!removed) {
        return refused(net::kUnavailable,
                       "its home has not ended it, and may still do so: check again");
    }
    return {net::kOk,
            core::json_text(OrderedJson{{"done",
                                         "The client is gone. Its messages and channels get their "
                                         "tombstones within seconds."}})};
}

OrderedJson connection_json(const core::Result<std::string>& answer) {
    const auto page = core::parse_ordered_json(answer.value_or("{}"));
    return {{"connected", page.value("connected", false)},
            {"since", page.value("attached_since", OrderedJson())},
            {"edge", core::text_member(page, "edge")},
            {"unanswered", page.value("unanswered", 0)},
            {"problem", answer ? "" : answer.error().message}};
}

}  // namespace beckon::console
