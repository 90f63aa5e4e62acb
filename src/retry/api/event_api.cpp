#include "retry/api/event_api.hpp"

#include "core/decimal.hpp"
#include "core/json_parts.hpp"
#include "core/json_text.hpp"
#include "net/http/http_message.hpp"
#include "retry/api/attempt_pages.hpp"
#include "retry/api/problem.hpp"
#include "retry/event/filter/json_tree.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace beckon::retry {

using core::Fault;
using Json = nlohmann::json;

namespace {

constexpr std::string_view kOwnTypes = "beckon.";  ///< of events that only Beckon makes
constexpr std::size_t kEventsOfTurn = 64;          ///< of a batch

/// The name of an event in answers: its source and id.
Json name_of(const Event& event) { return {{"source", event.source}, {"id", event.id}}; }

/// `wait` of the query: for how long the answer may wait for first attempts; zero without one.
core::Result<std::chrono::seconds> parse_wait(std::string_view target, std::chrono::seconds most) {
    const auto query = net::parse_query(net::split_target(target).query);
    if (query.empty()) return std::chrono::seconds{0};
    const auto& [name, value] = query.front();
    const auto number = name == "wait" ? core::parse_decimal<int>(value) : std::nullopt;
    if (query.size() != 1 || !number || *number < 1 || *number > most.count()) {
        return core::fail(Fault::invalid, "the query may be wait=<whole seconds from 1 to " +
                                              std::to_string(most.count()) + "> alone");
    }
    return std::chrono::seconds{*number};
}

}  // namespace

EventApi::EventApi(const Api::Options& options, RetryNode& node, const core::Clock& clock)
    : options_(options),
      node_(node),
      clock_(clock),
      posted_({.at_once = options.events_per_owner_per_second,
               .each = core::Duration{std::chrono::seconds{1}} /
                       std::max<std::size_t>(1, options.events_per_owner_per_second)}),
      lifetime_(node.executor()) {}

void EventApi::post(const ApiRequest& request, const Caller& caller, const Reply& reply) {
    auto posted = parse_posted(request);
    if (posted.refusal) {
        return reply(problem_reply(posted.refusal->problem, posted.refusal->detail));
    }
    const auto wait = parse_wait(request.target, options_.wait_max);
    if (!wait) return reply(failure_reply(wait.error()));
    const bool waits = *wait > wait->zero();
    if (posted.is_batch && waits) {
        return reply(problem_reply(Problem::invalid, "wait goes with one event, not with a batch"));
    }
    if (posted.is_batch) return post_batch(std::move(posted.events), caller, reply);
    const auto event = admit(caller, std::move(posted.events.front()));
    if (!event) return reply(problem_reply(event.error().problem, event.error().detail));
    if (waits) return post_and_wait(*event, caller, *wait, reply);
    const auto page = core::json_text(name_of(*event));
    node_.post_event(*event, caller.owner, [reply, page](const core::Result<void>& written) {
        reply(written ? json_reply(202, page) : failure_reply(written.error()));
    });
}

/// The posted event, restricted to what the caller may publish.
tl::expected<Event, Refusal> EventApi::admit(const Caller& caller, core::Result<Event> event) {
    const auto refuse = [](Problem problem, std::string detail) {
        return tl::unexpected<Refusal>(Refusal{problem, std::move(detail)});
    };
    if (options_.is_blocked && options_.is_blocked(caller.owner)) {
        return refuse(Problem::forbidden,
                      "the operator of this service has blocked the events of this owner");
    }
    const auto most = options_.events_per_owner_per_second;
    if (most > 0 && !posted_.try_take(caller.owner, clock_.mono())) {
        return refuse(Problem::too_many_requests,
                      "the owner may post " + std::to_string(most) +
                          " events a second (retry.events_per_owner_per_second)");
    }
    if (event && event->type.starts_with(kOwnTypes)) {
        return refuse(Problem::invalid,
                      "$.type must not begin with 'beckon.': those are Beckon's own");
    }
    if (event && !caller.publishes_to_all) {
        if (!event->owner.empty() && event->owner != caller.owner) {
            return refuse(Problem::forbidden,
                          "$.beckonowner names another owner than the token does");
        }
        event = for_owner(*event, caller.owner);
    }
    if (event && !node_.may_post(*event, caller.owner)) {
        return refuse(Problem::too_many_requests,
                      "too many events of this owner are waiting for their webhooks to be found; "
                      "post it again in a moment");
    }
    if (event) return std::move(*event);
    const bool large = event.error().fault == Fault::too_large;
    return refuse(large ? Problem::too_large : Problem::invalid, event.error().message);
}

/// A batch, and the answer to it while the log has not confirmed all of it.
struct EventApi::Batch {
    std::vector<core::Result<Event>> events;
    Caller caller;
    Reply reply;
    std::vector<std::string> answers;   ///< JSON, of each event
    std::size_t open = answers.size();  ///< answers that are missing
    std::size_t next = 0;               ///< of its events
    bool complete = true;               ///< the log has every event so far

    void refuse(std::size_t at, const net::HttpReply& problem) {
        complete = false;
        auto answer = core::must_parse_json(answers[at]);
        answer.update(core::must_parse_json(problem.body));
        answers[at] = core::json_text(answer);
        close();
    }
    void take(std::size_t at) {
        answers[at] = core::with_json_member(answers[at], "status", "202");
        close();
    }
    void close() {
        if (--open > 0) return;
        std::string body = R"({"events":[)";
        for (const auto& answer : answers) {
            if (body.back() == '}') body += ',';
            body += answer;
        }
        reply(json_reply(complete ? 202 : 207, body + "]}"));
    }
};

/// Each event is posted and answered for itself: 202 if the log has them all, otherwise 207.
void EventApi::post_batch(std::vector<core::Result<Event>> events, const Caller& caller,
                          const Reply& reply) {
    if (events.empty()) return reply(json_reply(202, R"({"events":[]})"));
    std::vector<std::string> answers(events.size(), "{}");
    post_part(std::make_shared<Batch>(Batch{.events = std::move(events),
                                            .caller = caller,
                                            .reply = reply,
                                            .answers = std::move(answers)}));
}

/// The thread has its other turns between the parts.
void EventApi::post_part(const std::shared_ptr<Batch>& batch) {
    const auto until = std::min(batch->next + kEventsOfTurn, batch->answers.size());
    while (batch->next < until) post_next(batch);
    if (batch->next == batch->answers.size()) return;
    node_.executor().post(lifetime_.guard([this, batch] { post_part(batch); }));
}

void EventApi::post_next(const std::shared_ptr<Batch>& batch) {
    const auto at = batch->next++;
    const auto event = admit(batch->caller, std::move(batch->events[at]));
    if (!event) {
        auto detail = event.error().detail;
        if (detail.starts_with('$')) detail.insert(1, "[" + std::to_string(at) + "]");
        return batch->refuse(at, problem_reply(event.error().problem, detail));
    }
    batch->answers[at] = core::json_text(name_of(*event));
    node_.post_event(*event, batch->caller.owner, [batch, at](const core::Result<void>& written) {
        written ? batch->take(at) : batch->refuse(at, failure_reply(written.error()));
    });
}

/// The deliveries of an event to the caller's own webhooks: a caller sees no others. Empty while
/// the webhooks are not known. Costly filters may be left out, so that no other request waits for
/// them.
std::set<std::string> EventApi::deliveries_of(const Event& event, const Caller& caller) {
    std::set<std::string> ids;
    if (!node_.knows_webhooks()) return ids;
    if (!event.owner.empty() && event.owner != caller.owner) return ids;
    const auto now = node_.now();  // of `now` in filters, about as the fan-out will have it
    Steps steps{Steps::kMaxOfFilter};
    const auto match =
        node_.webhooks().filters().match(JsonTree{event.json}, caller.owner, now, steps);
    for (const auto& id : match.ids) ids.insert(delivery_id(scope_of(event), event.id, id));
    return ids;
}

void EventApi::post_and_wait(const Event& event, const Caller& caller, std::chrono::seconds wait,
                             const Reply& reply) {
    auto& first = node_.first_attempts();
    auto deliveries = deliveries_of(event, caller);
    if (!first.has_capacity(caller.owner, deliveries.size())) {
        return reply(problem_reply(Problem::too_many_requests,
                                   "too many requests of this owner wait for first attempts; post "
                                   "the event without `wait`, or again in a moment"));
    }
    auto page = name_of(event);
    page["expected"] = deliveries.size();
    const auto number = first.expect(caller.owner, std::move(deliveries));
    node_.post_event(event, caller.owner,
                     [&node = node_, number, wait, reply,
                      page = std::move(page)](const core::Result<void>& written) {
                         if (!written) {
                             node.first_attempts().forget(number);
                             return reply(failure_reply(written.error()));
                         }
                         node.first_attempts().answer(
                             number, wait, [reply, page](const auto& seen, bool all) {
                                 reply(json_reply(200, first_attempts_page(page, seen, all)));
                             });
                     });
}

}  // namespace beckon::retry
