#include "retry/dead/resender.hpp"

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
                    LetterReader::Done done) {
    const auto number = next_reader_++;
    readers_[number] = std::make_unique<LetterReader>(
        partition, std::move(offsets), context_.log, context_.executor,
        lifetime_.guard([this, number, done = std::move(done)](auto result) {
            const auto ended = std::move(readers_[number]);
            readers_.erase(number);
            done(std::move(result));
        }));
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
        for (const auto& letter : letters) resend_or_forget(task, letter, *found);
        step_done(task);
    });
}

void Resender::resend_or_forget(const TaskPtr& task, const DeadLetter& letter,
                                const LetterReader::Found& found) {
    const auto at = std::find_if(found.letters.begin(), found.letters.end(), [&](const auto& one) {
        return one.offset == letter.place.offset;
    });
    if (at != found.letters.end()) return resend(task, letter, *at);
    if (letter.place.offset >= found.read_up_to) return;  // too many bytes at a time
    ++task->outcome.gone;
    context_.index.forget(letter);
}

void Resender::resend(const TaskPtr& task, const DeadLetter& letter,
                      const LetterReader::Letter& found) {
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
             if (found->letters.empty()) {
                 context_.index.forget(letter);
                 return done(core::fail(Fault::not_found, "it fell off the log"));
             }
             done(std::move(found->letters.front().delivery));
         });
}

}  // namespace beckon::retry
