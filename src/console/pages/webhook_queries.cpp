#include "console/pages/webhook_queries.hpp"

#include "client/url.hpp"
#include "core/ascii.hpp"
#include "core/ids.hpp"
#include "core/json_member.hpp"
#include "core/json_text.hpp"
#include "core/logger.hpp"
#include "records/done.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

namespace beckon::console {

namespace {

using Json = nlohmann::json;

constexpr std::chrono::seconds kReadingTime{20};
constexpr std::size_t kNameMax = 128;

/// Names of webhooks, deliveries and owners: they become part of a path.
std::optional<std::string> name_in(const Parameters& asked, const char* which) {
    const auto found = asked.find(which);
    if (found == asked.end() || found->second.empty() || found->second.size() > kNameMax) {
        return std::nullopt;
    }
    return core::is_alphanumeric(found->second, "-_") ? std::optional{found->second} : std::nullopt;
}

/// The answer for a request that the API refused, with the API's own reason.
Answer refusal(const core::Result<client::ApiAnswer>& answer) {
    if (!answer) return refused(kBadGateway, answer.error().message);
    auto why = core::text_member(core::parse_json(answer->body), "detail");
    if (why.empty()) why = "the role retry answered " + std::to_string(answer->status);
    const bool ours = answer->status >= 400 && answer->status < 500 && answer->status != 401;
    return refused(ours ? answer->status : kBadGateway, why);
}

/// The webhook without the members that only its owner may know.
Json shown(Json webhook) {
    const auto url = client::parse_url(core::text_member(webhook, "url"));
    webhook["origin"] = url ? url->origin() : std::string{};
    webhook.erase("url");
    webhook.erase("form_fields");
    return webhook;
}

Json waiting_json(const WaitingDelivery& one) {
    return {{"delivery", one.id},
            {"offset", one.offset},
            {"attempts", one.attempts},
            {"last", one.last ? Json(std::string{to_string(*one.last)}) : Json()},
            {"due", one.due.time_since_epoch().count()}};
}

Json waiting_json(const WaitingTier& tier) {
    auto first = Json::array();
    for (const auto& one : tier.first) first.push_back(waiting_json(one));
    return {{"topic", log::Topic::retry(tier.tier).name()},
            {"delay_seconds", tier.delay.count()},
            {"waiting", tier.waiting},
            {"first", std::move(first)}};
}

}  // namespace

/// An act at one webhook, as the API and people know it.
struct WebhookQueries::WebhookAct {
    const char* name;
    const char* path;  ///< behind /webhooks/ID
    const char* body;  ///< of the request
    const char* done;  ///< a sentence
    std::vector<std::string> (*plan)(const Json& webhook, const std::string& origin);
    bool (*possible)(const Json& webhook);
};

namespace {

bool is_enabled(const Json& webhook) { return webhook.value("enabled", true); }

std::vector<std::string> plan_test(const Json& webhook, const std::string& origin) {
    if (!is_enabled(webhook)) {
        return {"The webhook is disabled, so a test would become a dead letter. Enable it first."};
    }
    return {"One event of type beckon.webhook.test goes to " + origin +
                ", signed as every other event, even if a filter or types would leave it out.",
            "It counts as an attempt. If the receiver does not take it, it is tried again as every "
            "other delivery is."};
}

std::vector<std::string> plan_disable(const Json& webhook, const std::string& origin) {
    if (!is_enabled(webhook)) return {"The webhook is disabled already. Nothing would change."};
    return {"Requests to " + origin +
                " end. While it is disabled, new events are not kept for it and "
                "cannot be redriven.",
            "Only deliveries that already wait become dead letters, which can be redriven once it "
            "is enabled again.",
            "The reason that its owner sees is \"by an operator\"."};
}

std::vector<std::string> plan_enable(const Json& webhook, const std::string& origin) {
    if (is_enabled(webhook)) return {"The webhook is enabled already. Nothing would change."};
    return {"New events go to " + origin + " again, and so do deliveries that still wait.",
            "Its dead letters stay until somebody redrives them. Failures before now no longer "
            "count."};
}

std::vector<std::string> plan_rotate(const Json& webhook, const std::string& /*origin*/) {
    std::vector<std::string> does{
        "A new secret is made. It is shown here once, and never again: the receiver needs it.",
        "Requests are signed with the new and the present secret until the next rotation, so the "
        "receiver loses nothing while it changes."};
    if (webhook.value("secrets", 1) > 1) {
        does.emplace_back("The secret before the present one ends at once.");
    }
    if (webhook.contains("shared_key") && !webhook["shared_key"].is_null()) {
        does.emplace_back(
            "This webhook signs with a shared key, which a rotation does not change.");
    }
    return does;
}

bool always(const Json& /*webhook*/) { return true; }
bool if_disabled(const Json& webhook) { return !is_enabled(webhook); }

}  // namespace

WebhookQueries::WebhookQueries(Options options, Context context, RetryApi api)
    : options_(std::move(options)), context_(context), api_(std::move(api)) {}

Answer WebhookQueries::webhook(const Parameters& asked) const {
    const auto id = name_in(asked, "id");
    const auto owner = name_in(asked, "owner");
    if (!id || !owner)
        return refused(kBadRequest, "id and owner must name a webhook and its owner");
    const auto settings = api_.ask(*owner, {.path = "/webhooks/" + *id});
    if (!settings || !settings->good()) return refusal(settings);
    Json page{{"webhook", shown(core::parse_json(settings->body))},
              {"attempts", nullptr},
              {"hours", nullptr},
              {"problem", ""}};
    const auto attempts = api_.ask(*owner, {.path = "/webhooks/" + *id + "/attempts"});
    if (attempts && attempts->good()) {
        const auto reported = core::parse_json(attempts->body);
        for (const auto* name : {"attempts", "hours"}) {
            if (reported.is_object() && reported.contains(name)) page[name] = reported[name];
        }
    } else {
        page["problem"] = core::text_member(core::parse_json(refusal(attempts).json), "error");
    }
    return {kOk, core::json_text(page)};
}

Answer WebhookQueries::waiting(const Parameters& asked) const {
    const auto id = name_in(asked, "id");
    if (!id) return refused(kBadRequest, "id must be that of a webhook");
    const inspect::ScanLimits limits{
        .given_up = [this, until = context_.clock.mono() + kReadingTime] {
            return stopped_ || context_.clock.mono() > until;
        }};
    const auto found =
        waiting_deliveries(context_.log, *id, options_.tiers, options_.partitions, limits);
    if (!found) return refused(503, found.error().message);
    auto tiers = Json::array();
    for (const auto& tier : found->tiers) tiers.push_back(waiting_json(tier));
    return {kOk, core::json_text(Json{{"partition", found->partition},
                                      {"complete", found->complete},
                                      {"tiers", std::move(tiers)}})};
}

Answer WebhookQueries::letter(const Parameters& asked) const {
    const auto delivery = name_in(asked, "delivery");
    const auto owner = name_in(asked, "owner");
    if (!delivery || !owner) {
        return refused(kBadRequest, "delivery and owner must name a dead letter and its owner");
    }
    const auto letter = api_.ask(*owner, {.path = "/dead/" + *delivery});
    if (!letter || !letter->good()) return refusal(letter);
    return {kOk, letter->body};
}

Answer WebhookQueries::plan(const WebhookAct& kind, const Parameters& of) const {
    const auto settings = api_.ask(of.at("owner"), {.path = "/webhooks/" + of.at("webhook")});
    if (!settings || !settings->good()) return refusal(settings);
    const auto webhook = shown(core::parse_json(settings->body));
    return {kOk, core::json_text(Json{{"webhook", of.at("webhook")},
                                      {"origin", webhook["origin"]},
                                      {"does", kind.plan(webhook, webhook["origin"])},
                                      {"possible", kind.possible(webhook)}})};
}

Answer WebhookQueries::run(const WebhookAct& kind, const Parameters& of) const {
    const auto answer = api_.ask(
        of.at("owner"),
        {.method = "POST", .path = "/webhooks/" + of.at("webhook") + kind.path, .body = kind.body});
    const bool good = answer && answer->good();
    core::log_info("console", "webhook_act",
                   {{"act", kind.name},
                    {"by", of.at("by")},
                    {"webhook", of.at("webhook")},
                    {"owner", of.at("owner")},
                    {"status", answer ? answer->status : 0}});
    if (!good) return refusal(answer);
    Json page{{"done", kind.done}};
    const auto said = core::parse_json(answer->body);
    for (const auto* name : {"delivery", "secret"}) {
        if (auto text = core::text_member(said, name); !text.empty()) page[name] = std::move(text);
    }
    return {kOk, core::json_text(page)};
}

namespace {

/// The members of an act's request or order, which has no others than these; nullopt: it is none.
std::optional<Parameters> members_in(const std::string& text,
                                     const std::vector<const char*>& names) {
    const auto parsed = core::parse_json(text);
    if (!parsed.is_object() || parsed.size() != names.size()) return std::nullopt;
    Parameters of;
    for (const auto* name : names) of[name] = core::text_member(parsed, name);
    const bool good = std::all_of(names.begin(), names.end(),
                                  [&](const auto* name) { return name_in(of, name).has_value(); });
    return good ? std::optional{std::move(of)} : std::nullopt;
}

}  // namespace

/// A rotation that is repeated would end the secret that the receiver has.
bool WebhookQueries::is_first(const std::string& order) {
    const std::scoped_lock lock{mutex_};
    if (!used_.insert(order).second) return false;
    used_in_order_.push_back(order);
    if (used_in_order_.size() > kOrdersKept) {
        used_.erase(used_in_order_.front());
        used_in_order_.pop_front();
    }
    return true;
}

Act WebhookQueries::act(const WebhookAct& kind, SearchWorkers& workers) {
    const auto planned = workers.ask([this, kind](const auto& of) { return plan(kind, of); });
    const auto done = workers.ask([this, kind](const auto& of) { return run(kind, of); });
    const auto check = [planned, name = std::string{kind.name}](
                           const std::string& wanted, const std::function<void(Plan)>& then) {
        const auto of = members_in(wanted, {"webhook", "owner"});
        if (!of) return then({refused(kBadRequest, R"($ must be {"webhook": …, "owner": …})")});
        const auto order = core::json_text(Json{{"act", name},
                                                {"webhook", of->at("webhook")},
                                                {"owner", of->at("owner")},
                                                {"once", core::to_hex(core::random_uuid4())}});
        planned(*of, [then, order](Answer answer) {
            const auto plan = core::parse_json(answer.json);
            const bool possible = answer.status == kOk && plan.value("possible", false);
            then({std::move(answer), possible ? std::optional{order} : std::nullopt});
        });
    };
    const auto execute = [this, done, name = std::string{kind.name}](
                             const std::string& order, const std::string& by, const Reply& reply) {
        auto of = members_in(order, {"act", "webhook", "owner", "once"});
        if (!of || of->at("act") != name) {
            return reply(refused(kConflict, "the plan that was shown is of another act"));
        }
        if (!is_first(order)) {
            return reply(refused(kConflict, "this was done already: check it again"));
        }
        (*of)["by"] = by;
        done(*of, reply);
    };
    return {check, execute};
}

std::map<std::string, Act> WebhookQueries::acts(SearchWorkers& workers) {
    const std::array<WebhookAct, 4> kinds{{
        {"test", "/test", "", "The test event is on its way.", plan_test, is_enabled},
        {"disable", "/disable", R"({"by":"operator"})", "The webhook is disabled.", plan_disable,
         is_enabled},
        {"enable", "/enable", "", "The webhook is enabled.", plan_enable, if_disabled},
        {"rotate", "/secret", "", "The webhook has a new secret.", plan_rotate, always},
    }};
    std::map<std::string, Act> found;
    for (const auto& kind : kinds) found[kind.name] = act(kind, workers);
    return found;
}

namespace {

bool is_finished(const retry::Finished& finished, core::Offset offset) {
    if (offset < finished.low) return true;
    return std::any_of(finished.above.begin(), finished.above.end(), [&](const auto& range) {
        return range.begin <= offset && offset < range.end;
    });
}

core::Result<retry::DoneRecord> newest_done(log::EventLog& log, core::Partition partition,
                                            const inspect::ScanLimits& limits) {
    retry::DoneRecord newest;
    const auto sink = [&](const core::RecordView& record) {
        auto done = retry::decode_done(record);
        if (done && done->partition == partition) newest = std::move(*done);
        return log::Next::go_on;
    };
    const auto read = inspect::scan(log, {log::Topic::kRetryDone, partition}, 0, sink, limits);
    if (!read) return core::fail(read.error());
    return newest;
}

}  // namespace

core::Result<WaitingDeliveries> waiting_deliveries(log::EventLog& log, const std::string& webhook,
                                                   const std::vector<std::chrono::seconds>& tiers,
                                                   core::Partition partitions,
                                                   const inspect::ScanLimits& limits) {
    WaitingDeliveries found{.partition = core::partition_of(webhook, partitions), .tiers = {}};
    const auto done = newest_done(log, found.partition, limits);
    if (!done) return core::fail(done.error());
    std::size_t read_so_far = 0;
    for (std::size_t tier = 0; tier < tiers.size() && found.complete; ++tier) {
        WaitingTier of{.tier = static_cast<int>(tier), .delay = tiers[tier], .first = {}};
        const auto known = done->tiers.find(of.tier);
        const auto finished =
            known == done->tiers.end() ? retry::Finished{} : known->second.finished;
        const auto sink = [&](const core::RecordView& record) {
            if (++read_so_far > WaitingDeliveries::kRecordsMax) {
                found.complete = false;
                return log::Next::stop;
            }
            if (record.key != webhook || is_finished(finished, record.offset)) {
                return log::Next::go_on;
            }
            const auto delivery = retry::decode_delivery(record);
            if (!delivery) return log::Next::go_on;  // it becomes a dead letter
            ++of.waiting;
            if (of.first.size() < WaitingDeliveries::kShown) {
                of.first.push_back({.id = delivery->id,
                                    .offset = record.offset,
                                    .attempts = delivery->attempts,
                                    .last = delivery->last,
                                    .due = record.time + of.delay});
            }
            return log::Next::go_on;
        };
        const auto read = inspect::scan(log, {log::Topic::retry(of.tier), found.partition},
                                        finished.low, sink, limits);
        if (!read) return core::fail(read.error());
        if (of.waiting > 0) found.tiers.push_back(std::move(of));
    }
    return found;
}

}  // namespace beckon::console
