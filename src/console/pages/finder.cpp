#include "console/pages/finder.hpp"

#include "console/cluster/cluster_json.hpp"
#include "core/ascii.hpp"
#include "core/decimal.hpp"
#include "core/json_text.hpp"
#include "core/log_names.hpp"
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

std::string text_of(const console::Parameters& asked, const char* name) {
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
    return core::must_parse_ordered_json(inspect::trace_json(*trace));
}

Found life_of_client(log::EventLog& log, const inspect::Named& named,
                     const inspect::TraceOptions& options, core::Timestamp since) {
    const auto trace = inspect::trace_client(log, named.client, {.trace = options, .since = since});
    if (!trace) return core::fail(trace.error());
    return core::must_parse_ordered_json(inspect::trace_json(*trace));
}

OrderedJson connection_json(const Presence& presence) {
    return {{"connected", presence.connected},
            {"since", presence.since_ms ? OrderedJson(*presence.since_ms) : OrderedJson()},
            {"edge", presence.edge},
            {"unanswered", presence.unanswered},
            {"problem", presence.problem}};
}

/// From when on a slider makes sense: a little before the first step, within the window.
core::Timestamp first_moment(const OrderedJson& trace, core::Timestamp window_begins) {
    if (trace.is_null() || trace["steps"].empty()) return window_begins;
    const core::Timestamp first{
        std::chrono::milliseconds{trace["steps"].front()["at"].get<std::int64_t>()}};
    return std::max(first - kBeforeFirst, window_begins);
}

}  // namespace

Finder::Finder(Options options, Context context)
    : options_(options), context_(std::move(context)) {}

inspect::ScanLimits Finder::limits() const {
    return {.given_up = [this, until = context_.clock.mono() + kSearchTime] {
        return stopped_ || context_.clock.mono() > until;
    }};
}

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
    const auto read = inspect::scan(context_.log, place->where, place->offset, sink, limits);
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
        tokens, context_.log, text,
        {.partitions = options_.partitions, .now = context_.clock.wall(), .limits = limits});
}

console::Answer Finder::found(const std::string& text, const inspect::Named& named,
                              const inspect::ScanLimits& limits) {
    const auto ownership = context_.ownership ? context_.ownership() : nullptr;
    const auto now = context_.clock.wall();
    const auto window_begins = now - options_.history_window;
    const inspect::TraceOptions options{.partitions = options_.partitions,
                                        .now = now,
                                        .limits = limits,
                                        .homeless = [&](core::Partition partition) {
                                            return ownership &&
                                                   ownership->reader_of("edge", partition).dead;
                                        }};
    const auto life = named.kind == inspect::NameKind::message
                          ? life_of_message(context_.log, named, options)
                          : life_of_client(context_.log, named, options, window_begins);
    OrderedJson page{{"kind", kind_text(named.kind)},
                     {"facts", facts_of(named, options_.partitions)}};
    page["trace"] = life ? *life : OrderedJson(nullptr);
    page["problem"] = life ? "" : life.error().message;
    if (named.kind != inspect::NameKind::message && context_.presence) {
        page["connection"] = connection_json(context_.presence(named.client));
    }
    if (named.kind == inspect::NameKind::endpoint && ownership) {
        const auto path = text.substr(0, text.find_first_of("?#"));
        page["refused"] = core::must_parse_ordered_json(
            to_json(ownership->refused(path.substr(path.rfind('/') + 1))));
    }
    page["from"] = first_moment(page["trace"], window_begins).time_since_epoch().count();
    page["until"] = now.time_since_epoch().count();
    return {200, core::json_text(page)};
}

console::Answer Finder::find(const console::Parameters& asked) {
    const auto limit = limits();
    const auto what = named(text_of(asked, "q"), limit);
    if (!what) return refused(kUnavailable, what.error().message);
    if (*what && (*what)->nobody) return refused(kNotFound, kNobody);
    if (*what) return found(text_of(asked, "q"), **what, limit);
    return refused(kNotFound, why_nothing(text_of(asked, "q")));
}

console::Answer Finder::state(const console::Parameters& asked) {
    const auto at = time_of(text_of(asked, "at"));
    if (!at) return refused(kBadRequest, "at must be a time in Unix milliseconds");
    const auto limit = limits();
    const auto what = named(text_of(asked, "q"), limit);
    if (!what) return refused(kUnavailable, what.error().message);
    if (!*what || (*what)->nobody) {
        return refused(kNotFound, "nothing of this installation has this name");
    }
    const auto client = (*what)->client;
    const auto state =
        inspect::state_of_client(context_.log, client, *at, options_.partitions, limit);
    if (!state) return refused(kUnavailable, state.error().message);
    return {200, inspect::state_json(client, *state)};
}

core::Result<std::optional<core::Uaid>> Finder::client_of(const std::string& text) {
    const auto what = named(text, limits());
    if (!what) return core::fail(what.error());
    if (!*what || (*what)->nobody) return std::optional<core::Uaid>{};
    return std::optional{(*what)->client};
}

core::Result<inspect::ClientState> Finder::state_now(const core::Uaid& client) const {
    return inspect::state_of_client(context_.log, client, context_.clock.wall(),
                                    options_.partitions, limits());
}

}  // namespace beckon::console
