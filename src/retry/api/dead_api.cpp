#include "retry/api/dead_api.hpp"

#include "core/json_text.hpp"
#include "core/logger.hpp"
#include "core/time_text.hpp"
#include "net/http/http_message.hpp"
#include "retry/api/dead_query.hpp"
#include "retry/api/problem.hpp"

#include <chrono>

#include <nlohmann/json.hpp>

namespace beckon::retry {

using core::Fault;
using Json = nlohmann::json;

namespace {

constexpr std::size_t kSampleMax = 10;

/// The state of a webhook whose letters the caller may see; null: of no other.
const WebhookState* state_for(const Caller& caller, const std::string& webhook,
                              const RetryNode& node) {
    const auto* entry = node.webhooks().find(webhook);
    const bool shown = entry && (caller.operates || entry->webhook.owner == caller.owner);
    return shown ? &entry->state : nullptr;
}

LetterRights rights_of(const Caller& caller, const RetryNode& node) {
    return {.owner = caller.operates ? std::nullopt : std::optional{caller.owner},
            .state_of = [&](const DeadLetter& letter) {
                return state_for(caller, letter.webhook, node);
            }};
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

void DeadApi::handle(const ApiRequest& request, const Path& path, const Caller& caller,
                     const Reply& reply) {
    if (!node_.knows_dead_letters()) {
        return reply(problem_reply(Problem::not_ready, "the dead letters are still being read"));
    }
    if (path.route == Route::dead_letters) return list(request.target, caller, reply);
    if (path.route == Route::dead_letter) return show(path.id, caller, reply);
    const auto how = path.route == Route::redrive ? Settlement::redriven : Settlement::dropped;
    settle(request.body, how, caller, reply);
}

void DeadApi::list(std::string_view target, const Caller& caller, const Reply& reply) const {
    const auto page = parse_dead_page(net::split_target(target).query);
    if (!page) return reply(failure_reply(page.error()));
    const auto& letters = node_.dead_letters();
    const auto list = list_letters(letters, *page, rights_of(caller, node_));
    Json body{{"letters", Json::array()},
              {"next", list.next ? Json(list.next->text()) : Json()},
              {"passed_over", letters.passed_over()}};
    for (const auto* letter : list.letters) body["letters"].push_back(letter_json(*letter));
    if (caller.operates) body["all"] = letters.size();
    reply(json_reply(200, core::json_text(body)));
}

void DeadApi::show(const std::string& id, const Caller& caller, const Reply& reply) {
    const auto* letter = node_.dead_letters().find(id);
    if (!letter || !state_for(caller, letter->webhook, node_)) {
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
    if (!order) return reply(failure_reply(order.error()));
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
        page["sample"] = Json::array();
        for (const auto& letter : selection.letters) {
            if (page["sample"].size() < kSampleMax) page["sample"].push_back(letter_json(letter));
        }
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
