#include "retry/home/dead/resender.hpp"

#include "core/logger.hpp"

#include <algorithm>
#include <utility>

namespace beckon::retry {

using core::Fault;
using log::Topic;

void Resender::redrive(const std::vector<DeadLetter>& letters, Done done) {
    const auto task = std::make_shared<Task>();
    task->done = std::move(done);
    std::map<core::Partition, std::vector<DeadLetter>> by_partition;
    for (const auto& letter : letters) by_partition[letter.place.partition].push_back(letter);
    for (auto& [partition, some] : by_partition) task->partitions.push_back(std::move(some));
    context_.executor.post(lifetime_.guard([this, task] { step_done(task); }));
}

void Resender::read(core::Partition partition, std::vector<core::Offset> offsets,
                    std::function<void(const core::Result<FoundAt>&)> done) {
    const auto number = next_scan_++;
    const auto found = std::make_shared<FoundAt>();
    const log::Range range{offsets.front(), offsets.back() + 1};
    scans_[number] = std::make_unique<log::RangeScan>(
        context_.log, log::TopicPartition{Topic::kRetryDead, partition}, range, context_.executor,
        [offsets = std::move(offsets), found](const core::RecordView& record) {
            if (std::binary_search(offsets.begin(), offsets.end(), record.offset)) {
                auto letter = decode_delivery(record);
                if (letter) found->emplace(record.offset, Found{record.time, std::move(*letter)});
            }
            return log::Next::go_on;
        },
        [this, number, found, done = std::move(done)](const auto& read) {
            const auto ended = std::move(scans_.extract(number).mapped());
            read ? done(std::move(*found)) : done(core::fail(read.error()));
        });
}

void Resender::step_done(const TaskPtr& task) {
    if (--task->left > 0) return;
    if (task->partitions.empty()) return task->done(task->outcome);
    const auto letters = std::move(task->partitions.back());
    task->partitions.pop_back();
    redrive_partition(task, letters);
}

/// Its letters, in the order of the log.
void Resender::redrive_partition(const TaskPtr& task, const std::vector<DeadLetter>& letters) {
    std::vector<core::Offset> offsets;
    offsets.reserve(letters.size());
    for (const auto& letter : letters) offsets.push_back(letter.place.offset);
    std::sort(offsets.begin(), offsets.end());
    ++task->left;
    const auto partition = letters.front().place.partition;
    read(partition, std::move(offsets), [this, task, letters](const auto& found) {
        if (!found) {
            core::log_warn("retry", "dead_letters_not_read", {{"why", found.error().message}});
            task->outcome.failed += letters.size();
            return step_done(task);
        }
        for (const auto& letter : letters) {
            const auto at = found->find(letter.place.offset);
            if (at != found->end()) {
                resend(task, letter, at->second);
            } else {
                ++task->outcome.gone;
                context_.index.forget(letter);
            }
        }
        step_done(task);
    });
}

void Resender::resend(const TaskPtr& task, const DeadLetter& letter, const Found& found) {
    ++task->left;
    const auto again = reborn(found.delivery, found.died);
    context_.publisher.publish({Topic::retry(0), letter.place.partition}, encode(again),
                               lifetime_.guard([this, task, letter](const auto& written) {
                                   if (written) {
                                       settle(task, letter, Settlement::redriven);
                                   } else {
                                       ++task->outcome.failed;
                                   }
                                   step_done(task);
                               }));
}

void Resender::settle(const TaskPtr& task, const DeadLetter& letter, Settlement how) {
    ++task->left;
    context_.publisher.publish({Topic::kRetryDead, letter.place.partition},
                               encode(Settled{letter.delivery, letter.webhook, letter.hop, how}),
                               lifetime_.guard([this, task, letter](const auto& written) {
                                   ++(written ? task->outcome.settled : task->outcome.failed);
                                   const auto* known = context_.index.find(letter.delivery);
                                   if (written && known && known->hop == letter.hop)
                                       context_.index.forget(letter);
                                   step_done(task);
                               }));
}

void Resender::drop(const std::vector<DeadLetter>& letters, Done done) {
    const auto task = std::make_shared<Task>();
    task->done = std::move(done);
    for (const auto& letter : letters) settle(task, letter, Settlement::dropped);
    context_.executor.post(lifetime_.guard([this, task] { step_done(task); }));
}

void Resender::read(const DeadLetter& letter, std::function<void(core::Result<Delivery>)> done) {
    read(letter.place.partition, {letter.place.offset},
         [this, letter, done = std::move(done)](auto found) {
             if (!found) return done(core::fail(found.error()));
             if (found->empty()) {
                 context_.index.forget(letter);
                 return done(core::fail(Fault::not_found, "it fell off the log"));
             }
             read_event(letter, found->begin()->second.delivery, done);
         });
}

void Resender::read_event(const DeadLetter& letter, Delivery delivery,
                          const std::function<void(core::Result<Delivery>)>& done) {
    if (!delivery.place) return done(std::move(delivery));
    const auto place = *delivery.place;
    context_.events.read(place, letter.owner,
                         lifetime_.guard([delivery = std::move(delivery),
                                          done](const core::Result<EventText>& event) mutable {
                             if (!event) return done(core::fail(event.error()));
                             if (*event) delivery.event = **event;
                             done(std::move(delivery));
                         }));
}

}  // namespace beckon::retry
