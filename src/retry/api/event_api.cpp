#include "retry/api/event_api.hpp"

#include "core/json_parts.hpp"
#include "core/json_text.hpp"
#include "core/media_type.hpp"
#include "core/percent.hpp"
#include "net/http/query.hpp"
#include "retry/api/attempt_pages.hpp"
#include "retry/api/problem.hpp"
#include "retry/api/route.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace beckon::retry {

using core::Fault;
using Json = nlohmann::json;

namespace {

constexpr std::string_view kOwnTypes = "beckon.";  ///< of events that only Beckon makes
constexpr std::size_t kNameShown = 64;             ///< bytes of names from requests

/// The form of events in the body of a POST.
enum class PostMode : std::uint8_t { structured, batch, binary, unknown };

PostMode post_mode(const ApiRequest& request, const core::MediaType& type) {
    if (type.type == "application/cloudevents+json") return PostMode::structured;
    if (type.type == "application/cloudevents-batch+json") return PostMode::batch;
    return request.ce.empty() ? PostMode::unknown : PostMode::binary;
}

/// The value of a header `ce-…`: quotes are taken off, then it is percent-decoded once (CloudEvents
/// HTTP binding, section 3.1.3.2).
std::string attribute_of(std::string_view header) {
    if (header.size() < 2 || header.front() != '"' || header.back() != '"') {
        return core::percent_decoded(header);
    }
    const auto quoted = header.substr(1, header.size() - 2);
    std::string text;
    for (std::size_t i = 0; i < quoted.size(); ++i) {
        if (quoted[i] == '\\' && i + 1 < quoted.size()) ++i;
        text.push_back(quoted[i]);
    }
    return core::percent_decoded(text);
}

core::Result<Event> parse_binary_event(const ApiRequest& request) {
    std::map<std::string, std::string> attributes;
    for (const auto& [name, value] : request.ce) {
        if (attributes.emplace(name, attribute_of(value)).second) continue;
        return core::fail(Fault::invalid, "$." + name.substr(0, kNameShown) + " stands twice");
    }
    return parse_binary(attributes, request.content_type, request.body);
}

/// The texts of the events of a batch.
core::Result<std::vector<std::string_view>> parse_batch(std::string_view body) {
    const auto value = core::json_value(body);
    if (!value) return core::fail(Fault::invalid, "$ " + value.error().message);
    auto elements = core::json_elements(*value);
    if (!elements) return core::fail(Fault::invalid, "$ " + elements.error().message);
    if (elements->size() > EventApi::kBatchEventsMax) {
        return core::fail(
            Fault::invalid,
            "$ may have " + std::to_string(EventApi::kBatchEventsMax) + " events in one batch");
    }
    return elements;
}

/// The name of an event in answers: its source and id.
Json name_of(const Event& event) { return {{"source", event.source}, {"id", event.id}}; }

/// `wait` of the query: for how long the answer may wait for first attempts; zero without one.
core::Result<std::chrono::seconds> parse_wait(std::string_view target, std::chrono::seconds most) {
    const auto query = net::parse_query(net::split_target(target).query);
    if (query.empty()) return std::chrono::seconds{0};
    const auto& [name, value] = query.front();
    const auto text = name == "wait" ? value : std::string{};
    int number = 0;
    const auto* const end = text.data() + text.size();
    const auto [at, fault] = std::from_chars(text.data(), end, number);
    if (query.size() != 1 || fault != std::errc{} || at != end || number < 1 ||
        number > most.count()) {
        return core::fail(Fault::invalid, "the query may be wait=<whole seconds from 1 to " +
                                              std::to_string(most.count()) + "> alone");
    }
    return std::chrono::seconds{number};
}

}  // namespace

void EventApi::post(const ApiRequest& request, const Caller& caller, const Reply& reply) {
    const auto type = core::parse_media_type(request.content_type);
    const auto mode = post_mode(request, type);
    if (mode == PostMode::unknown) {
        return reply(
            problem_reply(Problem::unsupported_type,
                          "an event is sent as application/cloudevents+json, several as "
                          "application/cloudevents-batch+json, or one as data of any type "
                          "with the headers ce-specversion, ce-id, ce-source and ce-type"));
    }
    if (mode != PostMode::binary && !type.is_utf8()) {
        return reply(problem_reply(Problem::unsupported_type,
                                   "the charset of " + type.type + " must be utf-8"));
    }
    const auto wait = parse_wait(request.target, options_.wait_max);
    if (!wait) return reply(problem_reply(Problem::invalid, wait.error().message));
    if (mode == PostMode::batch) return post_batch(request, caller, *wait, reply);
    const auto event = admit(caller, [&] {
        return mode == PostMode::structured ? parse_structured(request.body)
                                            : parse_binary_event(request);
    });
    if (!event) return reply(problem_reply(event.error().problem, event.error().detail));
    if (*wait > wait->zero()) return post_and_wait(*event, caller, *wait, reply);
    const auto page = core::json_text(name_of(*event));
    node_.post_event(*event, caller.owner, [reply, page](const core::Result<void>& written) {
        reply(written ? json_reply(202, page) : failure_reply(written.error()));
    });
}

/// Whether the owner may post one more event in this second.
bool EventApi::take_quota(const std::string& owner) {
    if (options_.per_owner_per_second == 0) return true;
    const auto second = std::chrono::floor<std::chrono::seconds>(clock_.mono().time_since_epoch());
    if (second != std::exchange(second_, second)) posted_.clear();
    return ++posted_[owner] <= options_.per_owner_per_second;
}

/// The posted event, restricted to what the caller may publish.
tl::expected<Event, EventApi::Refusal> EventApi::admit(
    const Caller& caller, const std::function<core::Result<Event>()>& parse) {
    const auto refuse = [](Problem problem, std::string detail) {
        return tl::unexpected<Refusal>(Refusal{problem, std::move(detail)});
    };
    if (!take_quota(caller.owner)) {
        return refuse(Problem::too_many_requests,
                      "the owner has posted " + std::to_string(options_.per_owner_per_second) +
                          " events in this second, which is the most "
                          "(retry.events_per_owner_per_second)");
    }
    auto event = parse();
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

/// The answer to a batch while the log has not confirmed all of it.
struct EventApi::Batch {
    Reply reply;
    std::vector<Json> answers;
    std::size_t open = 0;  ///< answers that are missing
    bool complete = true;  ///< the log has every event so far

    void refuse(std::size_t at, const net::HttpReply& problem) {
        complete = false;
        answers[at].update(core::must_parse_json(problem.body));
        close();
    }
    void take(std::size_t at) {
        answers[at]["status"] = 202;
        close();
    }
    void close() {
        if (--open > 0) return;
        reply(json_reply(complete ? 202 : 207,
                         core::json_text(Json{{"events", std::move(answers)}})));
    }
};

/// Each event is posted and answered for itself: 202 if the log has them all, otherwise 207.
void EventApi::post_batch(const ApiRequest& request, const Caller& caller,
                          std::chrono::seconds wait, const Reply& reply) {
    const auto elements = parse_batch(request.body);
    if (!elements) return reply(problem_reply(Problem::invalid, elements.error().message));
    if (wait > wait.zero()) {
        return reply(problem_reply(Problem::invalid, "wait goes with one event, not with a batch"));
    }
    if (elements->empty()) return reply(json_reply(202, R"({"events":[]})"));
    const auto batch = std::make_shared<Batch>();
    batch->reply = reply;
    batch->answers.assign(elements->size(), Json::object());
    batch->open = elements->size();
    for (std::size_t at = 0; at < elements->size(); ++at) {
        auto event = admit(caller, [&] { return parse_structured((*elements)[at]); });
        if (!event) {
            auto detail = std::move(event.error().detail);
            if (detail.starts_with('$')) detail.insert(1, "[" + std::to_string(at) + "]");
            batch->refuse(at, problem_reply(event.error().problem, detail));
            continue;
        }
        batch->answers[at] = name_of(*event);
        node_.post_event(*event, caller.owner, [batch, at](const core::Result<void>& written) {
            written ? batch->take(at) : batch->refuse(at, failure_reply(written.error()));
        });
    }
}

/// The deliveries of an event to the caller's own webhooks: a caller sees no others. Empty while
/// the webhooks are not known. Some of the costly filters are left out, so that no other request
/// waits for them.
std::set<std::string> EventApi::deliveries_of(const Event& event, const Caller& caller) {
    std::set<std::string> ids;
    if (!node_.knows_webhooks()) return ids;
    if (!event.owner.empty() && event.owner != caller.owner) return ids;
    const auto now = node_.now();  // of `now` in filters, about as the fan-out will have it
    const auto most = std::min(steps_to_wait_.of(caller.owner, now).left(), Steps::kMaxOfFilter);
    Steps steps{most};
    const auto match =
        node_.webhooks().match(core::must_parse_json(event.json), caller.owner, now, steps);
    steps_to_wait_.spend(caller.owner, now, most - steps.left());
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
