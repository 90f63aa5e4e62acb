#include "ingest/view/subscription_view.hpp"

#include "core/logger.hpp"
#include "fold/trust.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace beckon::ingest {

using core::fail;
using core::Fault;

namespace {

constexpr std::size_t kBatch = 512;  ///< records per partition and round
constexpr core::Duration kRetry = std::chrono::seconds{1};
constexpr core::Duration kLagInterval = std::chrono::seconds{10};

}  // namespace

struct SubscriptionView::Fold {
    struct Waiter {
        std::uint64_t id;
        core::Executor* caller;
        Answer answer;
    };

    explicit Fold(log::TopicPartition w) : where(w) {}

    const log::TopicPartition where;
    std::unique_ptr<log::PartitionReader> reader;
    std::unique_ptr<fold::Marker> marker;
    bool to_take = false;       ///< there is something to take
    bool to_pass = false;       ///< taken, not committed yet
    bool first_marked = false;  ///< the first mark is asked for
    bool ready = false;
    core::Offset seen = 0;  ///< everything below is committed to the store
    std::multimap<core::Offset, Waiter> waiters;
};

/// Outlives the view in tasks that were posted before it went; used on the view's thread only.
struct SubscriptionView::Door {
    SubscriptionView* view = nullptr;
    std::atomic<std::size_t> questions{0};
    std::uint64_t next_waiter = 0;
};

SubscriptionView::SubscriptionView(ViewConfig config, log::EventLog& log, core::Executor& executor,
                                   const core::Clock& clock, store::SubscriptionStore& store,
                                   IngestMetrics& metrics, std::function<void(bool)> ready_changed)
    : config_(std::move(config)),
      log_(log),
      executor_(executor),
      clock_(clock),
      store_(store),
      metrics_(metrics),
      ready_changed_(std::move(ready_changed)),
      log_clock_(clock),
      publisher_(log.open_publisher(executor)),
      unready_(config_.partitions),
      door_(std::make_shared<Door>()) {
    door_->view = this;
    for (core::Partition p = 0; p < config_.partitions; ++p) {
        folds_.push_back(
            std::make_unique<Fold>(log::TopicPartition{log::Topic::kSubscriptions, p}));
    }
}

SubscriptionView::~SubscriptionView() { door_->view = nullptr; }

void SubscriptionView::start() {
    learn_clock();
    executor_.post_after(kLagInterval, [door = door_] {
        if (door->view) door->view->measure_lag();
    });
}

/// Trust in a checkpoint is judged by the log's time, so that is learned before anything is opened.
void SubscriptionView::learn_clock() {
    const auto sent = clock_.mono();
    publisher_->publish(
        folds_.front()->where, core::encode(core::Mark{config_.node.text}),
        [this, sent](const core::Result<log::Appended>& appended) {
            if (appended) {
                log_clock_.learn(appended->time, sent);
                for (core::Partition p = 0; p < config_.partitions; ++p) open(p);
                return;
            }
            core::log_warn("ingest", "view_waits_for_log", {{"error", appended.error().message}});
            executor_.post_after(kRetry, [door = door_] {
                if (door->view) door->view->learn_clock();
            });
        });
}

void SubscriptionView::open(core::Partition partition) {
    const auto& fold = *folds_[static_cast<std::size_t>(partition)];
    log_.ends(fold.where, executor_,
              [door = door_, partition](const core::Result<log::Ends>& ends) {
                  if (door->view) door->view->opened(partition, ends);
              });
}

void SubscriptionView::opened(core::Partition partition, const core::Result<log::Ends>& ends) {
    auto& fold = *folds_[static_cast<std::size_t>(partition)];
    if (!ends) {
        core::log_warn("ingest", "view_waits_for_partition",
                       {{"partition", partition}, {"error", ends.error().message}});
        executor_.post_after(kRetry, [door = door_, partition] {
            if (door->view) door->view->open(partition);
        });
        return;
    }
    const auto checkpoint = store_.checkpoint(partition);
    if (checkpoint && fold::is_trusted(*checkpoint, ends->start, ends->end, log_clock_.now(),
                                       config_.delete_retention)) {
        read_from(fold, checkpoint->next);
        return;
    }
    if (const auto cleared = store_.clear(partition); !cleared) {
        core::log_error("ingest", "view_not_cleared",
                        {{"partition", partition}, {"error", cleared.error().message}});
        executor_.post_after(kRetry, [door = door_, partition] {
            if (door->view) door->view->open(partition);
        });
        return;
    }
    core::log_info("ingest", "view_rebuilds",
                   {{"partition", partition},
                    {"had", checkpoint ? checkpoint->next : core::Offset{-1}},
                    {"start", ends->start},
                    {"end", ends->end}});
    read_from(fold, ends->start);
}

void SubscriptionView::read_from(Fold& fold, core::Offset from) {
    fold.seen = from;
    fold.first_marked = false;
    fold.marker = std::make_unique<fold::Marker>(fold.where, config_.node, *publisher_, executor_,
                                                 clock_, &log_clock_);
    fold.marker->passed(from);
    fold.to_take = true;
    fold.reader = log_.open_reader(fold.where, from, executor_, [this, &fold] {
        fold.to_take = true;
        schedule_round();
    });
    schedule_round();
}

void SubscriptionView::first_mark(core::Partition partition) {
    auto& fold = *folds_[static_cast<std::size_t>(partition)];
    fold.first_marked = true;
    fold.marker->ask([this, partition, marker = fold.marker.get()](const core::Result<void>& mark) {
        auto& marked = *folds_[static_cast<std::size_t>(partition)];
        if (marked.marker.get() != marker) return;
        if (mark) {
            set_ready(marked, true);
            return;
        }
        core::log_warn("ingest", "view_first_mark_failed",
                       {{"partition", partition}, {"error", mark.error().message}});
        executor_.post_after(kRetry, [door = door_, partition] {
            if (door->view) door->view->first_mark(partition);
        });
    });
}

/// The position lies above the log's end: this log has lost its tail or is another one.
void SubscriptionView::restart(Fold& fold) {
    core::log_error("ingest", "view_above_log_end",
                    {{"partition", fold.where.partition}, {"position", fold.reader->position()}});
    set_ready(fold, false);
    fold.reader.reset();
    fold.to_take = false;
    fold.to_pass = false;
    if (const auto cleared = store_.clear(fold.where.partition); !cleared) {
        core::log_error("ingest", "view_not_cleared", {{"error", cleared.error().message}});
    }
    open(fold.where.partition);
}

void SubscriptionView::schedule_round() {
    if (round_scheduled_) return;
    round_scheduled_ = true;
    executor_.post([door = door_] {
        if (door->view) door->view->round();
    });
}

/// Takes from every partition that has something, then commits once for all of them.
void SubscriptionView::round() {
    round_scheduled_ = false;
    bool more = false;
    if (!commit_failed_) {  // what is gathered must go to disk before more is gathered
        for (const auto& fold : folds_) {
            if (fold->reader && fold->to_take) more = take(*fold) || more;
        }
    }
    const bool gathered =
        std::any_of(folds_.begin(), folds_.end(), [](const auto& fold) { return fold->to_pass; });
    if (gathered) {
        const auto committed = store_.commit();
        commit_failed_ = !committed;
        if (!committed) {
            core::log_error("ingest", "view_not_committed", {{"error", committed.error().message}});
            executor_.post_after(kRetry, [door = door_] {
                if (door->view) door->view->schedule_round();
            });
            return;
        }
        for (const auto& fold : folds_) {
            if (fold->to_pass) passed(*fold);
        }
    }
    if (more) schedule_round();
}

/// True if there is more to take.
bool SubscriptionView::take(Fold& fold) {
    const auto partition = fold.where.partition;
    const auto taken = fold.reader->take(kBatch, [&](const core::RecordView& record) {
        const auto event = core::decode_subscription(record, scratch_);
        if (std::holds_alternative<core::Unknown>(event)) {
            metrics_.view_unknown.Increment();
        } else {
            store_.fold(partition, event, record.time);
        }
    });
    if (!taken) {
        fold.to_take = false;
        if (taken.error().fault == Fault::out_of_range) restart(fold);
        return false;
    }
    metrics_.view_folded.Increment(static_cast<double>(taken->records));
    fold.to_take = !taken->drained;
    const auto next = fold.reader->position();
    if (taken->records > 0 || next != fold.seen) {
        const auto caught_up = taken->drained ? std::optional{log_clock_.now()} : std::nullopt;
        store_.advance(partition, next, caught_up);
        fold.to_pass = true;
    }
    if (taken->drained && !fold.first_marked) first_mark(partition);
    return fold.to_take;
}

void SubscriptionView::passed(Fold& fold) {
    fold.to_pass = false;
    fold.seen = fold.reader->position();
    while (!fold.waiters.empty() && fold.waiters.begin()->first < fold.seen) {
        auto node = fold.waiters.extract(fold.waiters.begin());
        auto& waiter = node.mapped();
        waiter.caller->post([answer = std::move(waiter.answer)] { answer({}); });
        --door_->questions;
    }
    fold.marker->passed(fold.seen);
}

void SubscriptionView::set_ready(Fold& fold, bool ready) {
    if (fold.ready == ready) return;
    fold.ready = ready;
    const auto before = ready ? unready_.fetch_sub(1) : unready_.fetch_add(1);
    if (ready ? before == 1 : before == 0) ready_changed_(ready);
}

void SubscriptionView::measure_lag() {
    struct Sum {
        std::size_t missing = 0;
        core::Offset lag = 0;
    };
    const auto sum = std::make_shared<Sum>();
    sum->missing = folds_.size();
    for (const auto& fold : folds_) {
        const auto partition = static_cast<std::size_t>(fold->where.partition);
        log_.ends(fold->where, executor_,
                  [door = door_, sum, partition](const core::Result<log::Ends>& ends) {
                      if (!door->view) return;
                      if (ends) {
                          const auto seen = door->view->folds_[partition]->seen;
                          sum->lag += std::max<core::Offset>(0, ends->end - seen);
                      }
                      if (--sum->missing > 0) return;
                      door->view->metrics_.view_lag_records.Set(static_cast<double>(sum->lag));
                  });
    }
    executor_.post_after(kLagInterval, [door = door_] {
        if (door->view) door->view->measure_lag();
    });
}

void SubscriptionView::confirm(const core::Uaid& uaid, core::Executor& caller, Answer answer) {
    const auto partition = core::partition_of(uaid, config_.partitions);
    executor_.post([door = door_, partition, &caller, answer = std::move(answer)]() mutable {
        if (door->view) door->view->confirm_here(partition, caller, std::move(answer));
    });
}

void SubscriptionView::confirm_here(core::Partition partition, core::Executor& caller,
                                    Answer answer) {
    const auto refuse = [&](Fault fault, const char* why) {
        metrics_.marked(MarkOutcome::failed);
        caller.post(
            [answer, error = core::Error{fault, why}] { answer(fail(core::Error{error})); });
    };
    auto& fold = *folds_[static_cast<std::size_t>(partition)];
    if (!fold.ready) return refuse(Fault::unavailable, "the view is not complete yet");
    if (door_->questions >= config_.questions_max) {
        return refuse(Fault::full, "too many questions wait for marks");
    }
    ++door_->questions;
    const auto asked = clock_.mono();
    fold.marker->ask(
        [door = door_, &caller, answer = std::move(answer), asked](const core::Result<void>& mark) {
            --door->questions;
            if (door->view) {
                auto& metrics = door->view->metrics_;
                metrics.marked(mark ? MarkOutcome::passed : MarkOutcome::failed);
                metrics.mark_seconds.Observe(
                    std::chrono::duration<double>(door->view->clock_.mono() - asked).count());
            }
            caller.post([answer, mark] { answer(mark); });
        });
}

void SubscriptionView::wait_for(const core::Uaid& uaid, core::Offset offset, core::Executor& caller,
                                Answer answer) {
    const auto partition = core::partition_of(uaid, config_.partitions);
    executor_.post(
        [door = door_, partition, offset, &caller, answer = std::move(answer)]() mutable {
            if (door->view) door->view->wait_here(partition, offset, caller, std::move(answer));
        });
}

void SubscriptionView::wait_here(core::Partition partition, core::Offset offset,
                                 core::Executor& caller, Answer answer) {
    auto& fold = *folds_[static_cast<std::size_t>(partition)];
    if (fold.seen > offset) {
        caller.post([answer = std::move(answer)] { answer({}); });
        return;
    }
    if (door_->questions >= config_.questions_max) {
        caller.post([answer = std::move(answer)] {
            answer(fail(Fault::full, "too many writers wait for the view"));
        });
        return;
    }
    ++door_->questions;
    const auto id = door_->next_waiter++;
    fold.waiters.emplace(offset, Fold::Waiter{id, &caller, std::move(answer)});
    executor_.post_after(fold::Marker::kTimeout, [door = door_, partition, id] {
        if (!door->view) return;
        auto& waiters = door->view->folds_[static_cast<std::size_t>(partition)]->waiters;
        const auto found = std::find_if(waiters.begin(), waiters.end(),
                                        [id](const auto& entry) { return entry.second.id == id; });
        if (found == waiters.end()) return;
        found->second.caller->post([answer = std::move(found->second.answer)] {
            answer(fail(Fault::timed_out, "the view did not see the write in time"));
        });
        waiters.erase(found);
        --door->questions;
    });
}

}  // namespace beckon::ingest
