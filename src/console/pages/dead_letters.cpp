#include "console/pages/dead_letters.hpp"

#include "core/json_text.hpp"
#include "core/logger.hpp"
#include "log/read_partition.hpp"
#include "retry/api/dead_query.hpp"
#include "retry/api/webhook_body.hpp"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace beckon::console {

using Json = nlohmann::json;
using retry::DeadLetter;
using retry::LetterStanding;

namespace {

constexpr int kOk = 200;
constexpr int kBadRequest = 400;
constexpr int kUnavailable = 503;
constexpr std::chrono::seconds kAnswerWithin{60};
constexpr std::size_t kSample = 10;

console::Answer refused(int status, const std::string& why) {
    return {status, core::json_text(Json{{"error", why}})};
}

console::Answer still_reading() {
    return refused(kUnavailable, "the dead letters are still being read");
}

console::Answer no_answer_yet() {
    return refused(kUnavailable,
                   "the log has not answered yet; the redrive may still happen: check again later");
}

Json letters_json(const retry::LetterSelection& selection) {
    std::vector<const DeadLetter*> some;
    for (const auto& letter : selection.letters) {
        if (some.size() < kSample) some.push_back(&letter);
    }
    return core::must_parse_json(retry::letters_page(some, std::nullopt, 0))["letters"];
}

/// The order as it is confirmed: up to the newest letter, by the log's time, so that no later one
/// joins. The host's clock decides nothing.
std::string order_text(const std::string& wanted, std::optional<core::Timestamp> newest) {
    auto order = wanted.empty() ? Json::object() : core::must_parse_json(wanted);
    if (newest && !order.contains("before")) {
        order["before"] = retry::time_text(*newest + std::chrono::milliseconds{1});
    }
    order["dry_run"] = false;
    return core::json_text(order);
}

void log_redrive(const std::string& order, const std::string& by, std::size_t matched,
                 const retry::Resender::Outcome& outcome) {
    core::log_info("console", "dead_letters_redriven",
                   {{"by", by},
                    {"order", order},
                    {"matched", matched},
                    {"settled", outcome.settled},
                    {"gone", outcome.gone},
                    {"failed", outcome.failed}});
}

}  // namespace

DeadFold::DeadFold(core::Partition partitions, Context context)
    : webhooks_(std::move(context.webhooks)),
      executor_(context.executor),
      lifetime_(context.executor),
      publisher_(context.log.open_publisher(context.executor)),
      resender_({context.log, *publisher_, context.executor, index_}),
      follower_(log::all_of(log::Topic::kRetryDead, partitions), context.log, context.executor,
                [this](log::TopicPartition where, const core::RecordView& record) {
                    index_.apply(where.partition, record);
                }) {}

bool DeadFold::complete() const { return follower_.complete() && webhooks_->complete(); }

LetterStanding DeadFold::standing(const DeadLetter& letter) const {
    const auto enabled = webhooks_->enabled(letter.webhook);
    if (!enabled) return LetterStanding::hidden;
    return *enabled ? LetterStanding::enabled : LetterStanding::disabled;
}

retry::LetterList DeadFold::list(const retry::DeadPage& page) const {
    return list_letters(index_, page, [this](const auto& letter) { return standing(letter); });
}

retry::LetterSelection DeadFold::select(const retry::DeadOrder& order) const {
    return select_letters(index_, order, retry::Settlement::redriven,
                          [this](const auto& letter) { return standing(letter); });
}

void DeadFold::redrive(const std::vector<DeadLetter>& letters, retry::Resender::Done done) {
    resender_.redrive(letters, std::move(done));
}

void DeadLetters::use(const std::shared_ptr<DeadFold>& fold) {
    const std::scoped_lock lock{mutex_};
    fold_ = fold;
    remote_.reset();
    if (fold) remote_ = fold->remote();
}

/// If the fold is taken away meanwhile, the query has no answer, and the console replies with 503.
void DeadLetters::ask(std::function<void(DeadFold&)> query, const console::Reply& reply) {
    const std::scoped_lock lock{mutex_};
    if (!remote_) return reply(still_reading());
    remote_->post([fold = fold_, reply, query = std::move(query)] {
        const auto there = fold.lock();
        if (!there || !there->complete()) return reply(still_reading());
        query(*there);
    });
}

void DeadLetters::list(const console::Parameters& asked, const console::Reply& reply) {
    const auto page = retry::parse_dead_page(asked);
    if (!page) return reply(refused(kBadRequest, page.error().message));
    ask(
        [page = *page, reply](const DeadFold& fold) {
            const auto list = fold.list(page);
            reply({kOk, retry::letters_page(list.letters, list.next, fold.index().passed_over())});
        },
        reply);
}

void DeadLetters::check(const std::string& wanted, const Planned& planned) {
    const auto parsed = retry::parse_dead_order(wanted);
    if (!parsed) return planned({refused(kBadRequest, parsed.error().message)});
    ask(
        [wanted, planned](const DeadFold& fold) {
            const auto text = order_text(wanted, fold.index().newest());
            if (text.size() > console::WebServer::kOrderBytesMax) {
                return planned({refused(kBadRequest, "the filter is too long: name fewer ids")});
            }
            const auto selection = fold.select(*retry::parse_dead_order(text));
            console::Plan plan{
                {kOk, core::json_text(Json{{"matched", selection.matched},
                                           {"disabled", selection.disabled},
                                           {"would_settle", selection.letters.size()},
                                           {"sample", letters_json(selection)}})}};
            if (!selection.letters.empty()) plan.order = text;
            planned(std::move(plan));
        },
        [planned](console::Answer answer) { planned({std::move(answer)}); });
}

void DeadLetters::run(const std::string& order, const std::string& by,
                      const console::Reply& reply) {
    const auto parsed = retry::parse_dead_order(order);
    if (!parsed) return reply(refused(kBadRequest, parsed.error().message));
    ask(
        [order, by, reply, wanted = *parsed](DeadFold& fold) {
            const auto selection = fold.select(wanted);
            const auto left = selection.matched - selection.disabled;
            // The log has answered or failed long before.
            fold.after(kAnswerWithin, [reply] { reply(no_answer_yet()); });
            fold.redrive(selection.letters, [=, matched = selection.matched](
                                                const retry::Resender::Outcome& outcome) {
                log_redrive(order, by, matched, outcome);
                const auto over = outcome.settled + outcome.gone;
                reply({kOk, core::json_text(Json{{"settled", outcome.settled},
                                                 {"gone", outcome.gone},
                                                 {"failed", outcome.failed},
                                                 {"left", left - std::min(left, over)}})});
            });
        },
        reply);
}

console::Act DeadLetters::redrive() {
    return {[this](const std::string& wanted, const Planned& planned) { check(wanted, planned); },
            [this](const std::string& order, const std::string& by, const console::Reply& reply) {
                run(order, by, reply);
            }};
}

}  // namespace beckon::console
