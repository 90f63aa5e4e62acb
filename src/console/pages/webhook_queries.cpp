#include "console/pages/webhook_queries.hpp"

#include "client/url.hpp"
#include "core/ascii.hpp"
#include "core/json_member.hpp"
#include "core/json_text.hpp"
#include "core/logger.hpp"
#include "inspect/trace/scan.hpp"
#include "records/delivery.hpp"
#include "records/done.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

namespace beckon::console {

namespace {

using Json = nlohmann::json;

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
    if (!answer) return refused(net::kBadGateway, answer.error().message);
    auto why = core::text_member(core::parse_json(answer->body), "detail");
    if (why.empty()) why = "the role retry answered " + std::to_string(answer->status);
    const bool ours = answer->status >= 400 && answer->status < 500 && answer->status != 401;
    return refused(ours ? answer->status : net::kBadGateway, why);
}

/// The webhook without the members that only its owner may know.
Json shown(Json webhook) {
    const auto url = client::parse_url(core::text_member(webhook, "url"));
    webhook["origin"] = url ? url->origin() : std::string{};
    webhook.erase("url");
    webhook.erase("form_fields");
    return webhook;
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

Answer WebhookQueries::webhook(const Parameters& asked) const {
    const auto id = name_in(asked, "id");
    const auto owner = name_in(asked, "owner");
    if (!id || !owner)
        return refused(net::kBadRequest, "id and owner must name a webhook and its owner");
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
    return {net::kOk, core::json_text(page)};
}

Answer WebhookQueries::letter(const Parameters& asked) const {
    const auto delivery = name_in(asked, "delivery");
    const auto owner = name_in(asked, "owner");
    if (!delivery || !owner) {
        return refused(net::kBadRequest,
                       "delivery and owner must name a dead letter and its owner");
    }
    const auto letter = api_.ask(*owner, {.path = "/dead/" + *delivery});
    if (!letter || !letter->good()) return refusal(letter);
    return {net::kOk, letter->body};
}

namespace {

/// The webhook and its owner of an act's request; nullopt: it has other members than these.
std::optional<Parameters> webhook_in(const std::string& text) {
    const auto parsed = core::parse_json(text);
    const Parameters of{{"webhook", core::text_member(parsed, "webhook")},
                        {"owner", core::text_member(parsed, "owner")}};
    const bool good = parsed.is_object() && parsed.size() == of.size() && name_in(of, "webhook") &&
                      name_in(of, "owner");
    return good ? std::optional{of} : std::nullopt;
}

}  // namespace

Plan WebhookQueries::plan(const WebhookAct& kind, const std::string& wanted) const {
    const auto of = webhook_in(wanted);
    if (!of) return {refused(net::kBadRequest, R"($ must be {"webhook": …, "owner": …})")};
    const auto settings = api_.ask(of->at("owner"), {.path = "/webhooks/" + of->at("webhook")});
    if (!settings || !settings->good()) return {refusal(settings)};
    const auto webhook = shown(core::parse_json(settings->body));
    const bool possible = kind.possible(webhook);
    return {{net::kOk, core::json_text(Json{{"webhook", of->at("webhook")},
                                            {"origin", webhook["origin"]},
                                            {"does", kind.plan(webhook, webhook["origin"])},
                                            {"possible", possible}})},
            possible ? std::optional{wanted} : std::nullopt};
}

Answer WebhookQueries::run(const WebhookAct& kind, const std::string& order,
                           const std::string& by) const {
    const auto of = webhook_in(order).value();
    const auto answer = api_.ask(
        of.at("owner"),
        {.method = "POST", .path = "/webhooks/" + of.at("webhook") + kind.path, .body = kind.body});
    const bool good = answer && answer->good();
    core::log_info("console", "webhook_act",
                   {{"act", kind.name},
                    {"by", by},
                    {"webhook", of.at("webhook")},
                    {"owner", of.at("owner")},
                    {"status", answer ? answer->status : 0}});
    if (!good) return refusal(answer);
    Json page{{"done", kind.done}};
    const auto said = core::parse_json(answer->body);
    for (const auto* name : {"delivery", "secret"}) {
        if (auto text = core::text_member(said, name); !text.empty()) page[name] = std::move(text);
    }
    return {net::kOk, core::json_text(page)};
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
    for (const auto& kind : kinds) {
        found[kind.name] = workers.act(
            [this, kind](const auto& wanted) { return plan(kind, wanted); },
            [this, kind](const auto& order, const auto& by) { return run(kind, order, by); });
    }
    return found;
}

namespace {

bool is_finished(const retry::Finished& finished, core::Offset offset) {
    if (offset < finished.low) return true;
    return std::ranges::any_of(finished.above, [&](const auto& range) {
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

Answer WebhookQueries::waiting(const Parameters& asked) const {
    const auto id = name_in(asked, "id");
    if (!id) return refused(net::kBadRequest, "id must be that of a webhook");
    const auto limits = read_.reading.begin();
    const auto partition = core::partition_of(*id, read_.layout.partitions);
    const auto done = newest_done(read_.log, partition, limits);
    if (!done) return refused(net::kUnavailable, done.error().message);
    std::size_t read_so_far = 0;
    bool complete = true;
    auto tiers = Json::array();
    for (std::size_t tier = 0; tier < read_.layout.tiers.size() && complete; ++tier) {
        const auto topic = log::Topic::retry(static_cast<int>(tier));
        const auto known = done->tiers.find(static_cast<int>(tier));
        const auto finished =
            known == done->tiers.end() ? retry::Finished{} : known->second.finished;
        std::size_t waiting = 0;
        auto first = Json::array();
        const auto sink = [&](const core::RecordView& record) {
            complete = ++read_so_far <= kRecordsMax;
            if (!complete) return log::Next::stop;
            if (record.key != *id || is_finished(finished, record.offset)) return log::Next::go_on;
            const auto delivery = retry::decode_delivery(record);
            if (!delivery) return log::Next::go_on;  // it becomes a dead letter
            if (++waiting > kShown) return log::Next::go_on;
            const auto due = record.time + read_.layout.tiers[tier];
            first.push_back(
                {{"delivery", delivery->id},
                 {"offset", record.offset},
                 {"attempts", delivery->attempts},
                 {"last", delivery->last ? Json(std::string{to_string(*delivery->last)}) : Json()},
                 {"due", due.time_since_epoch().count()}});
            return log::Next::go_on;
        };
        const auto read = inspect::scan(read_.log, {topic, partition}, finished.low, sink, limits);
        if (!read) return refused(net::kUnavailable, read.error().message);
        if (waiting == 0) continue;
        tiers.push_back({{"topic", topic.name()},
                         {"delay_seconds", read_.layout.tiers[tier].count()},
                         {"waiting", waiting},
                         {"first", std::move(first)}});
    }
    return {net::kOk,
            core::json_text(Json{
                {"partition", partition}, {"complete", complete}, {"tiers", std::move(tiers)}})};
}

}  // namespace beckon::console
