#include "sim/retry/delivery_ledger.hpp"

#include "records/dead_letter.hpp"
#include "records/events.hpp"
#include "retry/webhook/webhook.hpp"
#include "support/record_view.hpp"

#include <algorithm>
#include <utility>
#include <variant>

namespace beckon::sim {

using log::Topic;

namespace {

bool covers(const retry::Finished& finished, core::Offset offset) {
    if (offset < finished.low) return true;
    return std::any_of(finished.above.begin(), finished.above.end(), [offset](const auto& range) {
        return range.begin <= offset && offset < range.end;
    });
}

}  // namespace

DeliveryLedger::DeliveryLedger(Options options, Events events)
    : options_(std::move(options)),
      notify_(std::move(events)),
      partitions_(static_cast<std::size_t>(options_.partitions)) {}

template <class F>
void DeliveryLedger::each_new(const log::TopicPartition& where, F f) {
    auto& next = next_[where];
    const auto& records = options_.log.records(where);
    if (records.empty() || records.back().offset < next) return;
    auto at = std::lower_bound(records.begin(), records.end(), next,
                               [](const auto& one, core::Offset o) { return one.offset < o; });
    for (; at != records.end(); ++at) {
        const test::ReadBack view{at->record, at->offset, at->time};
        f(*view);
        next = at->offset + 1;
    }
}

void DeliveryLedger::read() {
    for (core::Partition p = 0; p < options_.partitions; ++p) {
        read_done(p);
        for (const auto& [tier, delay] : options_.delays) read_tier(p, tier);
        read_letters(p);
        read_events(p);
        read_webhooks(p);
    }
}

DeliveryLedger::Known& DeliveryLedger::known(const retry::Delivery& delivery, core::Partition p) {
    auto& one = deliveries_[delivery.id];
    one.webhook = delivery.webhook;
    one.partition = p;
    one.hop = std::max(one.hop, delivery.hop);
    return one;
}

void DeliveryLedger::read_tier(core::Partition p, int tier) {
    const log::TopicPartition where{Topic::retry(tier), p};
    each_new(where, [&](const core::RecordView& record) {
        auto& greatest = greatest_.try_emplace(where, record.time).first->second;
        if (record.time > greatest) greatest = record.time;
        const auto due = greatest + delay(tier);
        if (core::is_control_key(record.key)) return;
        const auto delivery = retry::decode_delivery(record);
        if (!delivery) return;
        known(*delivery, p)
            .written.push_back({.tier = tier,
                                .offset = record.offset,
                                .hop = delivery->hop,
                                .attempts = delivery->attempts,
                                .appended = options_.appended_at(where, record.offset),
                                .due = due,
                                .redriven = tier == 0 && delivery->hop > 0});
        notify_.written(p, delivery->id, options_.appended_at(where, record.offset));
    });
}

void DeliveryLedger::read_letters(core::Partition p) {
    const log::TopicPartition where{Topic::kRetryDead, p};
    each_new(where, [&](const core::RecordView& record) {
        if (core::is_control_key(record.key)) return;
        if (const auto settled = retry::decode_settled(record)) {
            auto& one = deliveries_[settled->delivery];
            if (!one.letter || *one.letter > settled->hop) return;
            one.letter.reset();
            one.dropped = settled->how == retry::Settlement::dropped;
            return;
        }
        const auto dead = retry::decode_delivery(record);
        if (!dead) return;
        auto& one = known(*dead, p);
        if (!one.letter || *one.letter < dead->hop) one.letter = dead->hop;
        notify_.written(p, dead->id, options_.appended_at(where, record.offset));
    });
}

void DeliveryLedger::read_done(core::Partition p) {
    auto& of = partitions_[static_cast<std::size_t>(p)];
    const log::TopicPartition where{Topic::kRetryDone, p};
    each_new(where, [&](const core::RecordView& record) {
        if (core::is_control_key(record.key)) {
            core::DecodeScratch scratch;
            const auto event = core::decode_notification(record, scratch);
            const auto* lease = std::get_if<core::Lease>(&event);
            if (!lease || lease->removed || lease->epoch <= of.epoch) return;
            of.epoch = lease->epoch;
            of.leased_at = options_.appended_at(where, record.offset);
            const auto before = std::exchange(of.holder, std::string{lease->node});
            if (before != of.holder) notify_.lease_moved(p, before);
            return;
        }
        const auto done = retry::decode_done(record);
        if (done && done->epoch >= of.done.epoch) of.done = *done;
    });
}

void DeliveryLedger::read_events(core::Partition p) {
    const log::TopicPartition where{Topic::kEvents, p};
    each_new(where, [&](const core::RecordView& record) {
        if (core::is_control_key(record.key)) return;
        const auto event = retry::decode_event(record);
        if (!event) return;
        const std::pair name{retry::scope_of(*event), event->id};
        if (!event_names_.try_emplace(name, events_.size()).second) return;
        events_.push_back({.event = *event,
                           .partition = p,
                           .offset = record.offset,
                           .appended = options_.appended_at(where, record.offset)});
    });
}

void DeliveryLedger::read_webhooks(core::Partition p) {
    const log::TopicPartition where{Topic::kWebhooks, p};
    constexpr std::string_view kState = "/state";
    each_new(where, [&](const core::RecordView& record) {
        if (!record.key.ends_with(kState) || !record.value) return;
        const auto state = retry::decode_webhook_state(record);
        if (!state) return;
        const auto id = record.key.substr(0, record.key.size() - kState.size());
        states_[std::string{id}].push_back(
            {options_.appended_at(where, record.offset), state->enabled});
    });
}

const DeliveryLedger::Known* DeliveryLedger::find(const std::string& delivery) const {
    const auto found = deliveries_.find(delivery);
    return found == deliveries_.end() ? nullptr : &found->second;
}

const std::vector<DeliveryLedger::StateChange>& DeliveryLedger::states_of(
    const std::string& webhook) const {
    static const std::vector<StateChange> none;
    const auto found = states_.find(webhook);
    return found == states_.end() ? none : found->second;
}

bool DeliveryLedger::is_finished(core::Partition p, int tier, core::Offset offset) const {
    const auto& tiers = of(p).done.tiers;
    const auto found = tiers.find(tier);
    return found != tiers.end() && covers(found->second.finished, offset);
}

bool DeliveryLedger::is_finished(const Known& known, const Written& record) const {
    return std::any_of(known.written.begin(), known.written.end(), [&](const Written& copy) {
        return copy.hop == record.hop && copy.tier == record.tier && copy.offset <= record.offset &&
               is_finished(known.partition, copy.tier, copy.offset);
    });
}

std::string DeliveryLedger::unfinished(core::Partition p) const {
    std::string out;
    for (const auto& [tier, delay] : options_.delays) {
        const auto& records = options_.log.records({Topic::retry(tier), p});
        const auto& tiers = of(p).done.tiers;
        const auto found = tiers.find(tier);
        const auto low = found == tiers.end() ? 0 : found->second.finished.low;
        if (records.empty() || low > records.back().offset) continue;
        out += " retry." + std::to_string(tier) + " from " + std::to_string(low) + " to " +
               std::to_string(records.back().offset);
    }
    return out;
}

bool DeliveryLedger::all_finished(core::Partition p) const { return unfinished(p).empty(); }

}  // namespace beckon::sim
