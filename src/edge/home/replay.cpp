#include "edge/home/replay.hpp"

#include "core/log_names.hpp"
#include "core/logger.hpp"
#include "records/client_gone.hpp"

#include <variant>

namespace beckon::edge {

void Replay::notification(const core::RecordView& record) {
    std::visit(core::Overloaded{[&](const core::NotificationAccepted& message) {
                                    const bool waits = context_.delivery.fold(record, message);
                                    if (waits && context_.leadership.serving()) {
                                        context_.pending.waits(message.uaid, record.offset);
                                    }
                                },
                                [&](const core::NotificationFinished& done) {
                                    if (!is_repeated(done)) count_finished(done);
                                    context_.store.finish(done, record.time);
                                    if (!is_repeated(done)) {
                                        context_.tombstone_outbox.read_back(done.key);
                                    }
                                    context_.delivery.finished(done.uaid, done.key, done.reason);
                                },
                                [](const core::BarrierRecord&) {},
                                [&](const core::Lease& seen) {
                                    context_.leadership.read(log::Topic::kNotifications,
                                                             record.offset, seen);
                                },
                                [&](const core::Unknown& what) {
                                    unknown(log::Topic::kNotifications, record.offset, what);
                                }},
               core::decode_notification(record, scratch_));
}

/// A deleted message with a pending tombstone: that one is counted, and read back.
bool Replay::is_repeated(const core::NotificationFinished& done) {
    return done.reason == core::FinishReason::deleted &&
           context_.store.tombstone_pending(done.uaid, done.key);
}

/// Each node with a copy of the partition reads the tombstone; the one that serves counts it.
void Replay::count_finished(const core::NotificationFinished& done) {
    if (!context_.leadership.serving()) return;
    ++counts_.finished[done.reason];
    if (!core::log_enabled(core::LogLevel::debug)) return;
    core::log_debug("edge", "message_finished",
                    {{"message", core::log_name(done.key)},
                     {"client", core::log_name(done.uaid)},
                     {"reason", core::to_string(done.reason)}});
}

/// A record that lost was written by a former home. Own records never lose: they come in order.
void Replay::subscription(const core::RecordView& record) {
    if (core::decode_client_gone(record)) return;  // of a bridged client: the endpoints' concern
    auto& store = context_.store;
    std::visit(
        core::Overloaded{
            [&](const core::ClientRecorded& e) {
                context_.registrations.saw(e.stamp);
                folded(store.put_client(e));
            },
            [&](const core::ClientRemoved& e) {
                folded(store.remove_client(e, record.time));
                // The records of its channels are in the log still.
                context_.registrations.repair_is_due();
            },
            [&](const core::ChannelRecorded& e) {
                context_.registrations.saw(e.stamp);
                folded(store.put_channel(e));
            },
            [&](const core::ChannelRemoved& e) { folded(store.remove_channel(e, record.time)); },
            [](const core::BarrierRecord&) {},
            [&](const core::Lease& seen) {
                context_.leadership.read(log::Topic::kSubscriptions, record.offset, seen);
            },
            [&](const core::Unknown& what) {
                unknown(log::Topic::kSubscriptions, record.offset, what);
            }},
        core::decode_subscription(record, scratch_));
}

void Replay::unknown(log::Topic topic, core::Offset offset, const core::Unknown& record) {
    ++counts_.unknown;
    core::log_sparsely(core::LogLevel::warn, "edge", "unknown_record",
                       {{"topic", topic.name()},
                        {"partition", partition_},
                        {"offset", offset},
                        {"why", record.why}});
}

}  // namespace beckon::edge
