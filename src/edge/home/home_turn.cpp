#include "edge/frames.hpp"
#include "edge/home/home_impl.hpp"

namespace beckon::edge {

using core::Fault;

void Home::Impl::schedule_turn() {
    if (std::exchange(turn_posted, true)) return;
    ports.executor.post(guarded([](Impl& self) {
        self.turn_posted = false;
        self.turn();
    }));
}

/// Fold, commit, deliver: nothing leaves this home before the store has what it follows from.
void Home::Impl::turn() {
    if (!notifications.reader) return;
    bool more = commit_failed;  // what it did not take meanwhile
    if (!commit_failed) {
        const auto of = life;
        more = take(subscriptions) || more;
        if (life != of) return;  // restarted
        more = take(notifications) || more;
        if (life != of) return;
    }
    if (!commit()) return;
    after_commit();
    if (more || store->dirty()) schedule_turn();
}

/// True if there is more to take.
bool Home::Impl::take(Input& input) {
    const bool of_notifications = &input == &notifications;
    const auto taken = input.reader->take(kFoldBatch, [&](const core::RecordView& record) {
        if (of_notifications) {
            fold_notification(record);
        } else {
            fold_subscription(record);
        }
    });
    if (!taken) {
        if (taken.error().fault != Fault::out_of_range) return false;  // `ready` comes again
        const auto cleared = store->clear();
        if (cleared) restart(taken.error().message);
        return false;
    }
    input.drained = taken->drained;
    const auto next = input.reader->position();
    const auto now = ports.clock.mono();
    const bool stale = input.drained && now - input.caught_up >= kCaughtUpEvery;
    if (next != input.next || taken->records > 0 || stale || input.caught_up == core::MonoTime{}) {
        std::optional<core::Timestamp> seen_end;
        if (input.drained) {
            seen_end = ports.log_clock.now();
            input.caught_up = now;
        }
        store->advance(input.source, next, seen_end);
        input.next = next;
    }
    return !input.drained;
}

bool Home::Impl::commit() {
    if (!store->dirty()) return true;
    const auto committed = store->commit();
    if (committed) {
        commit_failed = false;
        commit_retry = kCommitRetryFirst;
        return true;
    }
    // Mostly the disk is behind for some milliseconds; it is a person's matter if that lasts.
    const bool lasts = commit_retry >= kCommitRetryMax && !commit_given_notice;
    if (!commit_failed || lasts) {
        commit_given_notice = lasts;
        core::log_line(lasts ? core::LogLevel::error : core::LogLevel::warn, "edge",
                       "store_not_committed",
                       {{"partition", options.partition},
                        {"fault", core::to_string(committed.error().fault)},
                        {"why", committed.error().message}});
    }
    if (committed.error().fault == Fault::corrupt && store->clear()) {
        restart("the store is corrupt");
        return false;
    }
    commit_failed = true;  // takes no more until there is room again
    later(commit_retry, &Impl::schedule_turn);
    commit_retry = std::min<core::Duration>(commit_retry * 2, kCommitRetryMax);
    return false;
}

void Home::Impl::after_commit() {
    const auto of = life;
    if (begin_serving) start_serving();
    for (auto& message : std::exchange(outbox, {})) ports.fronts.to_front(std::move(message));
    if (auto fresh = store->take_new_debts(); debts && !fresh.empty()) debts->add(fresh);
    complete_changes();
    for (auto* input : {&subscriptions, &notifications}) {
        if (input->marker) input->marker->passed(input->next);
        if (life != of) return;
    }
    refill_all();
    if (state == State::restoring && subscriptions.drained && notifications.drained) caught_up();
}

void Home::Impl::fold_notification(const core::RecordView& record) {
    std::visit(core::Overloaded{[&](const core::NotificationAccepted& message) {
                                    fold_message(record, message);
                                },
                                [&](const core::NotificationFinished& done) {
                                    store->finish(done.uaid, done.key, record.time);
                                    if (debts) debts->read_back(done.key);
                                    finished_elsewhere(done.uaid, done.key);
                                },
                                [](const core::Mark&) {},
                                [&](const core::Lease& seen) {
                                    read_lease(log::Topic::kNotifications, record.offset, seen);
                                },
                                [&](const core::Unknown& what) {
                                    unknown(log::Topic::kNotifications, record.offset, what);
                                }},
               core::decode_notification(record, scratch));
}

void Home::Impl::fold_message(const core::RecordView& record,
                              const core::NotificationAccepted& message) {
    std::optional<core::MessageKey> replaced;
    const auto outcome = store->put(record.offset, record.time, message, &replaced);
    if (replaced) finished_elsewhere(message.uaid, *replaced);
    switch (outcome) {
        case store::PutOutcome::pending:
        case store::PutOutcome::ttl_zero: break;
        case store::PutOutcome::finished:
        case store::PutOutcome::expired:
        case store::PutOutcome::repeated: return;
    }
    const bool ttl_zero = outcome == store::PutOutcome::ttl_zero;
    const auto session = sessions.find(message.uaid);
    if (state != State::serving || session == sessions.end()) {
        if (ttl_zero) hold(record, message);
        return;
    }
    if (ttl_zero) {
        // Sent and forgotten: it takes no place in the window, and an ack for it is ignored.
        outbox.push_back(ToClient{session->second.id, notification_frame(message)});
        ++counters.delivered;
        return;
    }
    deliver(session->second, message, record.time + std::chrono::seconds{message.ttl_s});
}

void Home::Impl::fold_subscription(const core::RecordView& record) {
    // What lost was written by a former home; whoever serves writes the truth again, so that
    // compaction keeps that (DESIGN §5). Own records never lose: they come in order.
    const auto late = [&](const auto& event) {
        return state == State::serving && event.stamp && event.stamp->epoch < lease->epoch();
    };
    std::visit(core::Overloaded{[&](const core::ClientRecorded& event) {
                                    if (!store->put_client(event) && late(event))
                                        publish_truth(event.uaid, {});
                                },
                                [&](const core::ClientRemoved& event) {
                                    if (!store->remove_client(event, record.time) && late(event)) {
                                        publish_truth(event.uaid, {});
                                    }
                                },
                                [&](const core::ChannelRecorded& event) {
                                    if (!store->put_channel(event) && late(event)) {
                                        publish_truth(event.uaid, event.channel);
                                    }
                                },
                                [&](const core::ChannelRemoved& event) {
                                    if (!store->remove_channel(event, record.time) && late(event)) {
                                        publish_truth(event.uaid, event.channel);
                                    }
                                },
                                [](const core::Mark&) {},
                                [&](const core::Lease& seen) {
                                    read_lease(log::Topic::kSubscriptions, record.offset, seen);
                                },
                                [&](const core::Unknown& what) {
                                    unknown(log::Topic::kSubscriptions, record.offset, what);
                                }},
               core::decode_subscription(record, scratch));
}

void Home::Impl::read_lease(log::Topic topic, core::Offset offset, const core::Lease& seen) {
    lease->read(topic, offset, seen);
}

void Home::Impl::unknown(log::Topic topic, core::Offset offset, const core::Unknown& record) {
    ++counters.unknown_records;
    core::log_warn("edge", "unknown_record",
                   {{"topic", topic.name()},
                    {"partition", options.partition},
                    {"offset", offset},
                    {"why", record.why}});
}

}  // namespace beckon::edge
