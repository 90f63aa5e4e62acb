#include "cli/console/dead_letters.hpp"

#include "core/logger.hpp"
#include "log/read_partition.hpp"
#include "retry/api/dead_query.hpp"
#include "retry/api/webhook_body.hpp"

#include <algorithm>
#include <chrono>
#include <future>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace beckon::cli {

using Json = nlohmann::json;
using retry::DeadLetter;
using retry::LetterStanding;

namespace {

constexpr int kOk = 200;
constexpr int kBadRequest = 400;
constexpr int kUnavailable = 503;
/// The log has answered long before, or says that it cannot.
constexpr std::chrono::seconds kAnswerWithin{60};
constexpr std::chrono::milliseconds kLookAgain{50};
constexpr std::size_t kSample = 10;

console::Answer refused(int status, const std::string& why) {
    return {status, Json{{"error", why}}.dump(-1, ' ', false, Json::error_handler_t::replace)};
}

console::Answer still_reading() {
    return refused(kUnavailable, "the dead letters are still being read");
}

Json letters_json(const retry::LetterSelection& selection) {
    std::vector<const DeadLetter*> some;
    for (const auto& letter : selection.letters) {
        if (some.size() < kSample) some.push_back(&letter);
    }
    return Json::parse(retry::letters_page(some, std::nullopt, 0))["letters"];
}

/// The order as it is confirmed: it says until when its letters have died, so that none joins.
std::string order_text(const std::string& wanted, core::Timestamp now) {
    auto order = wanted.empty() ? Json::object() : Json::parse(wanted);
    if (!order.contains("before")) order["before"] = retry::time_text(now);
    order["dry_run"] = false;
    return order.dump();
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
      lifetime_(context.executor),
      publisher_(context.log.open_publisher(context.executor)),
      resender_({context.log, *publisher_, context.executor, context.clock, index_}),
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

console::Answer DeadLetters::ask(std::function<void(DeadFold&, Reply)> question) {
    const auto promised = std::make_shared<std::promise<console::Answer>>();
    auto answer = promised->get_future();
    {
        const std::scoped_lock lock{mutex_};
        if (!remote_) return still_reading();
        remote_->post([fold = fold_, promised, question = std::move(question)] {
            const auto there = fold.lock();
            if (!there || !there->complete()) return promised->set_value(still_reading());
            question(*there,
                     [promised](console::Answer said) { promised->set_value(std::move(said)); });
        });
    }
    for (auto waited = std::chrono::milliseconds{0}; waited < kAnswerWithin; waited += kLookAgain) {
        if (answer.wait_for(kLookAgain) == std::future_status::ready) return answer.get();
        if (stopped_) break;
    }
    return refused(kUnavailable,
                   "the log has not answered yet; what was begun may still happen: look again");
}

console::Answer DeadLetters::list(const console::Parameters& asked) {
    const auto page = retry::parse_dead_page(asked);
    if (!page) return refused(kBadRequest, page.error().message);
    return ask([page = *page](const DeadFold& fold, const Reply& reply) {
        const auto list = fold.list(page);
        reply({kOk, retry::letters_page(list.letters, list.next, fold.index().passed_over())});
    });
}

console::Plan DeadLetters::check(const std::string& wanted) {
    const auto parsed = retry::parse_dead_order(wanted);
    if (!parsed) return {refused(kBadRequest, parsed.error().message)};
    const auto text = order_text(wanted, clock_.wall());
    if (text.size() > console::WebServer::kOrderBytesMax) {
        return {refused(kBadRequest, "the filter is too long: name fewer ids")};
    }
    auto answer =
        ask([order = *retry::parse_dead_order(text)](const DeadFold& fold, const Reply& reply) {
            const auto selection = fold.select(order);
            reply({kOk, Json{{"matched", selection.matched},
                             {"disabled", selection.disabled},
                             {"would_settle", selection.letters.size()},
                             {"sample", letters_json(selection)}}
                            .dump(-1, ' ', false, Json::error_handler_t::replace)});
        });
    if (answer.status != kOk || Json::parse(answer.json)["would_settle"] == 0) {
        return {std::move(answer)};
    }
    return {std::move(answer), text};
}

console::Answer DeadLetters::run(const std::string& order, const std::string& by) {
    const auto parsed = retry::parse_dead_order(order);
    if (!parsed) return refused(kBadRequest, parsed.error().message);
    return ask([order, by, wanted = *parsed](DeadFold& fold, const Reply& reply) {
        const auto selection = fold.select(wanted);
        const auto left = selection.matched - selection.disabled;
        fold.redrive(selection.letters,
                     [=, matched = selection.matched](const retry::Resender::Outcome& outcome) {
                         log_redrive(order, by, matched, outcome);
                         const auto over = outcome.settled + outcome.gone;
                         reply({kOk, Json{{"settled", outcome.settled},
                                          {"gone", outcome.gone},
                                          {"failed", outcome.failed},
                                          {"left", left - std::min(left, over)}}
                                         .dump()});
                     });
    });
}

console::Act DeadLetters::redrive() {
    return {[this](const std::string& wanted) { return check(wanted); },
            [this](const std::string& order, const std::string& by) { return run(order, by); }};
}

}  // namespace beckon::cli
