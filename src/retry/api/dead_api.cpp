#include "retry/api/dead_api.hpp"

#include "core/json_text.hpp"
#include "core/logger.hpp"
#include "core/time_text.hpp"
#include "net/http/http_message.hpp"
#include "retry/api/dead_query.hpp"
#include "retry/api/dead_selection.hpp"
#include "retry/api/problem.hpp"
#include "retry/api/route.hpp"

#include <chrono>
#include <unordered_map>

#include <nlohmann/json.hpp>

namespace beckon::retry {

using core::Fault;
using Verb = net::Method;
using Json = nlohmann::json;

namespace {

constexpr std::string_view kRedrive = "/dead/redrive";
constexpr std::string_view kDrop = "/dead/drop";
constexpr std::size_t kSampleMax = 10;

LetterStanding standing_of(const std::string& webhook, const Caller& caller,
                           const RetryNode& node) {
    const auto* entry = node.webhooks().find(webhook);
    if (!entry) return LetterStanding::hidden;
    if (!caller.operates && entry->webhook.owner != caller.owner) return LetterStanding::hidden;
    return entry->state.enabled ? LetterStanding::enabled : LetterStanding::disabled;
}

/// For one request: thousands of letters have the same few webhooks.
LetterRights rights_of(const Caller& caller, const RetryNode& node) {
    const auto known = std::make_shared<std::unordered_map<std::string, LetterStanding>>();
    const auto standing = [&node, &caller, known](const DeadLetter& letter) {
        const auto found = known->find(letter.webhook);
        if (found != known->end()) return found->second;
        return known->emplace(letter.webhook, standing_of(letter.webhook, caller, node))
            .first->second;
    };
    return {.owner = caller.operates ? std::nullopt : std::optional{caller.owner},
            .standing = standing};
}

/// The first letters of a dry run.
Json sample_of(const std::vector<DeadLetter>& letters) {
    auto sample = Json::array();
    for (const auto& letter : letters) {
        if (sample.size() == kSampleMax) break;
        sample.push_back(core::must_parse_json(letter_json(letter)));
    }
    return sample;
}

/// Logs the act and its owner, for a later audit. Each letter's own record in `retry.dead` has it
/// too.
void note_act(Settlement how, const std::string& owner, const Resender::Outcome& outcome) {
    core::log_info("retry", "dead_letters_settled",
                   {{"how", how == Settlement::redriven ? "redriven" : "dropped"},
                    {"owner", owner},
                    {"settled", outcome.settled},
                    {"gone", outcome.gone},
                    {"failed", outcome.failed}});
}

}  // namespace

bool DeadApi::has(std::string_view target) {
    const auto path = net::split_target(target).path;
    return path == kBase || path.starts_with("/dead/");
}

void DeadApi::handle(const DeadRequest& request, const Caller& caller, const Reply& reply) {
    const auto path = net::split_target(request.target).path;
    const bool settles = path == kRedrive || path == kDrop;
    if (request.method != (settles ? Verb::post : Verb::get)) {
        return reply(wrong_method(settles ? "POST" : "GET"));
    }
    if (!node_.knows_webhooks() || !node_.knows_dead_letters()) {
        return reply(problem_reply(Problem::not_ready, "the dead letters are still being read"));
    }
    if (path == kBase) return list(request.target, caller, reply);
    if (path == kRedrive) return settle(request.body, Settlement::redriven, caller, reply);
    if (path == kDrop) return settle(request.body, Settlement::dropped, caller, reply);
    show(std::string{path.substr(kBase.size() + 1)}, caller, reply);
}

void DeadApi::list(std::string_view target, const Caller& caller, const Reply& reply) const {
    const auto page = parse_dead_page(net::split_target(target).query);
    if (!page) return reply(problem_reply(Problem::invalid, page.error().message));
    const auto& letters = node_.dead_letters();
    const auto list = list_letters(letters, *page, rights_of(caller, node_));
    reply(json_reply(200, letters_page(list.letters, list.next,
                                       {.passed_over = letters.passed_over(),
                                        .all = caller.operates ? std::optional{letters.size()}
                                                               : std::nullopt})));
}

void DeadApi::show(const std::string& id, const Caller& caller, const Reply& reply) {
    const auto* letter = node_.dead_letters().find(id);
    if (!letter || standing_of(letter->webhook, caller, node_) == LetterStanding::hidden) {
        return reply(problem_reply(Problem::not_found,
                                   "there is no such dead letter of this owner's webhooks"));
    }
    node_.resender().read(*letter, [reply, letter = *letter](const auto& delivery) {
        if (delivery) return reply(json_reply(200, letter_page(letter, *delivery)));
        if (delivery.error().fault == Fault::not_found) {
            return reply(problem_reply(Problem::not_found, delivery.error().message));
        }
        reply(problem_reply(Problem::not_ready, "the log cannot be read at present"));
    });
}

void DeadApi::settle(std::string_view body, Settlement how, const Caller& caller,
                     const Reply& reply) {
    const auto order = parse_dead_order(body);
    if (!order) return reply(problem_reply(Problem::invalid, order.error().message));
    const auto selection =
        select_letters(node_.dead_letters(), *order, how, rights_of(caller, node_));
    Json page{{"dry_run", order->dry_run},
              {"matched", selection.matched},
              {"disabled", selection.disabled},
              {"settled", 0},
              {"gone", 0},
              {"failed", 0}};
    if (order->dry_run || selection.letters.empty()) {
        page["would_settle"] = selection.letters.size();
        page["sample"] = sample_of(selection.letters);
        // An order with this `before` leaves out letters that come after this reply.
        if (const auto newest = node_.dead_letters().newest()) {
            page["before"] = core::time_text(*newest + std::chrono::milliseconds{1});
        }
        return reply(json_reply(200, core::json_text(page)));
    }
    const auto by = caller.operates ? "/operator" : caller.owner;
    if (settling_->contains(by) || settling_->size() >= kSettlingMax) {
        return reply(problem_reply(Problem::too_many_requests,
                                   "one redrive or drop of a caller can be under way, and " +
                                       std::to_string(kSettlingMax) +
                                       " of all callers; ask again when it has been answered"));
    }
    settling_->insert(by);
    const std::shared_ptr<void> settles{nullptr, [all = settling_, by](void*) { all->erase(by); }};
    const auto done = [reply, page, how, owner = caller.owner,
                       settles](const auto& outcome) mutable {
        note_act(how, owner, outcome);
        page["settled"] = outcome.settled;
        page["gone"] = outcome.gone;
        page["failed"] = outcome.failed;
        reply(json_reply(200, core::json_text(page)));
    };
    auto& resender = node_.resender();
    how == Settlement::redriven ? resender.redrive(selection.letters, done)
                                : resender.drop(selection.letters, done);
}

}  // namespace beckon::retry
