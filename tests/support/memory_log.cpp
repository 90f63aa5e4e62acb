#include "support/memory_log.hpp"

#include "core/assert.hpp"
#include "core/lifetime.hpp"
#include "log/local/membership.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <random>
#include <string>
#include <unordered_map>
#include <utility>

namespace beckon::log {

using core::Duration;
using core::Error;
using core::Fault;
using core::MonoTime;
using core::Offset;
using core::Result;

namespace {

constexpr const char* kAway = "the log is away";

std::string text_of(const TopicPartition& where) {
    return where.topic.name() + "/" + std::to_string(where.partition);
}

Error no_such(const TopicPartition& where) {
    return {Fault::not_found, "no such partition: " + text_of(where)};
}

/// One partition at rest, and its readers. `Reader` is MemoryLog's own.
template <class Reader>
struct PartitionOf {
    std::vector<MemoryLog::Stored> records;  ///< in order of their offsets, with gaps
    Offset start = 0;
    Offset end = 0;
    core::Timestamp newest{};
    std::optional<Offset> held_at;  ///< readers see nothing from here on
    std::vector<Reader*> readers;
};

}  // namespace

/// Appends records in the order of their publishes: each partition has a queue whose head waits for
/// its delay and, while the log is away, for its return or its time-out.
class MemoryLog::MemoryPublisher final : public Publisher {
public:
    MemoryPublisher(State& log, core::Executor& executor);
    ~MemoryPublisher() override;
    MemoryPublisher(const MemoryPublisher&) = delete;
    MemoryPublisher& operator=(const MemoryPublisher&) = delete;

    void publish(TopicPartition where, core::Record record, AppendDone done) override;
    std::size_t unanswered() const override { return unanswered_; }

    /// The log is back.
    void retry_all();

private:
    enum class AppendOutcome { append, fail, lose_answer };
    struct Waiting {
        core::Record record;
        AppendDone done;
        MonoTime due;
        MonoTime deadline;
        AppendOutcome outcome;
    };
    struct Answer {
        AppendDone done;
        Result<Appended> result;
    };
    struct Queue {
        std::deque<Waiting> waiting;
        std::deque<Answer> answers;
        MonoTime append_due{};
        MonoTime answer_due{};
        bool watching_deadline = false;
    };

    void refuse(AppendDone done, Error error);
    void pump(TopicPartition where);
    Result<Appended> append(TopicPartition where, Waiting& head);
    void answer_later(TopicPartition where, AppendDone done, Result<Appended> result);

    State& log_;
    core::Lifetime lifetime_;
    const core::Lifetime::Remote remote_;
    std::map<TopicPartition, Queue> queues_;
    std::size_t unanswered_ = 0;
};

class MemoryLog::MemoryReader final : public PartitionReader {
public:
    MemoryReader(State& log, TopicPartition where, Offset from, core::Executor& executor,
                 std::function<void()> ready);
    ~MemoryReader() override;
    MemoryReader(const MemoryReader&) = delete;
    MemoryReader& operator=(const MemoryReader&) = delete;

    Result<Taken> take(std::size_t max, const RecordSink& sink) override;
    Offset position() const override { return position_; }
    void pause() override { paused_ = true; }
    void resume() override;

    /// Something may be there now: notifies the owner if it waits for that.
    void wake();
    void appended(Offset end);

private:
    void announce();

    State& log_;
    const TopicPartition where_;
    core::Lifetime lifetime_;
    const core::Lifetime::Remote remote_;
    const std::function<void()> ready_;
    std::optional<Error> useless_;
    Offset position_;
    Offset visible_ = 0;   ///< what the read delay lets through
    MonoTime read_due_{};  ///< when the newest record may be seen
    bool paused_ = false;
    bool waiting_ = false;  ///< take() said drained (or unavailable)
};

struct MemoryLog::State {
    using Partition = PartitionOf<MemoryReader>;

    explicit State(const Options& o) : options(o), random(o.seed), membership(*o.clock) {
        for (int i = 0; i < Topic::kCount; ++i) {
            const auto count = partitions_of(Topic::from_index(i), options.partitions);
            topics.emplace_back(static_cast<std::size_t>(count));
        }
    }

    bool has(const TopicPartition& where) const { return exists(where, options.partitions); }
    Partition& partition(const TopicPartition& where) {
        BECKON_ASSERT(has(where), "the partition exists");
        return topics[static_cast<std::size_t>(where.topic.index())]
                     [static_cast<std::size_t>(where.partition)];
    }
    Duration random_delay(Duration max) {
        if (max <= Duration::zero()) return Duration::zero();
        return Duration{
            static_cast<Duration::rep>(random() % (static_cast<std::uint64_t>(max.count()) + 1))};
    }
    static bool use_up(int& count) {
        if (count == 0) return false;
        --count;
        return true;
    }
    Appended append(TopicPartition where, core::Record record);

    const Options options;
    std::mt19937_64 random;
    std::vector<std::vector<Partition>> topics;
    std::vector<MemoryPublisher*> publishers;
    LocalMembership membership;
    std::map<std::string, std::map<TopicPartition, Offset>> groups;
    int to_fail = 0;
    int to_lose = 0;
    bool away = false;
};

// --- publisher

MemoryLog::MemoryPublisher::MemoryPublisher(State& log, core::Executor& executor)
    : log_(log), lifetime_(executor), remote_(lifetime_.remote()) {
    log_.publishers.push_back(this);
}

MemoryLog::MemoryPublisher::~MemoryPublisher() {
    lifetime_.end();
    std::erase(log_.publishers, this);
}

void MemoryLog::MemoryPublisher::publish(TopicPartition where, core::Record record,
                                         AppendDone done) {
    if (!log_.has(where)) return refuse(std::move(done), no_such(where));
    if (size_of(record) > kRecordBytesMax) {
        return refuse(std::move(done),
                      {Fault::too_large,
                       "a record has at most " + std::to_string(kRecordBytesMax) + " bytes"});
    }
    if (unanswered_ >= log_.options.waiting_max) {
        return refuse(std::move(done), {Fault::full, "too many publishes wait for the log"});
    }
    auto outcome = AppendOutcome::append;
    if (State::use_up(log_.to_fail)) {
        outcome = AppendOutcome::fail;
    } else if (State::use_up(log_.to_lose)) {
        outcome = AppendOutcome::lose_answer;
    }
    ++unanswered_;
    auto& queue = queues_[where];
    const auto now = log_.options.clock->mono();
    // Half of the delay lies before the append and half after it, so that a crash between them
    // leaves a record in the log whose answer nobody saw.
    queue.append_due =
        std::max(queue.append_due, now + log_.random_delay(log_.options.append_delay_max / 2));
    queue.waiting.push_back({std::move(record), std::move(done), queue.append_due,
                             now + log_.options.publish_timeout, outcome});
    remote_.post_after(queue.append_due - now, [this, where] { pump(where); });
}

void MemoryLog::MemoryPublisher::refuse(AppendDone done, Error error) {
    remote_.post([done = std::move(done), error = std::move(error)] { done(core::fail(error)); });
}

void MemoryLog::MemoryPublisher::pump(TopicPartition where) {
    auto& queue = queues_[where];
    while (!queue.waiting.empty()) {
        auto& head = queue.waiting.front();
        const auto now = log_.options.clock->mono();
        if (now < head.due) return;  // its own task is still to come
        if (log_.away && now < head.deadline) {
            if (std::exchange(queue.watching_deadline, true)) return;
            remote_.post_after(head.deadline - now, [this, where] {
                queues_[where].watching_deadline = false;
                pump(where);
            });
            return;
        }
        auto result = append(where, head);
        auto done = std::move(head.done);
        queue.waiting.pop_front();
        answer_later(where, std::move(done), std::move(result));
    }
}

Result<Appended> MemoryLog::MemoryPublisher::append(TopicPartition where, Waiting& head) {
    if (log_.away) return core::fail(Fault::unavailable, kAway);
    if (head.outcome == AppendOutcome::fail)
        return core::fail(Fault::unavailable, "the append failed");
    const auto appended = log_.append(where, std::move(head.record));
    if (head.outcome == AppendOutcome::lose_answer)
        return core::fail(Fault::unavailable, "the answer was lost");
    return appended;
}

void MemoryLog::MemoryPublisher::answer_later(TopicPartition where, AppendDone done,
                                              Result<Appended> result) {
    auto& queue = queues_[where];
    const auto now = log_.options.clock->mono();
    queue.answer_due =
        std::max(queue.answer_due, now + log_.random_delay(log_.options.append_delay_max / 2));
    queue.answers.push_back({std::move(done), std::move(result)});
    remote_.post_after(queue.answer_due - now, [this, where] {
        auto& answers = queues_[where].answers;
        auto answer = std::move(answers.front());
        answers.pop_front();
        --unanswered_;
        answer.done(answer.result);  // the last: it may destroy this publisher
    });
}

void MemoryLog::MemoryPublisher::retry_all() {
    for (const auto& [where, queue] : queues_) {
        if (!queue.waiting.empty()) remote_.post([this, where = where] { pump(where); });
    }
}

// --- reader

MemoryLog::MemoryReader::MemoryReader(State& log, TopicPartition where, Offset from,
                                      core::Executor& executor, std::function<void()> ready)
    : log_(log),
      where_(where),
      lifetime_(executor),
      remote_(lifetime_.remote()),
      ready_(std::move(ready)),
      position_(from) {
    if (!log_.has(where)) {
        useless_ = no_such(where);
    } else {
        auto& partition = log_.partition(where);
        partition.readers.push_back(this);
        visible_ = partition.end;
        position_ = std::max(position_, partition.start);
        if (from > partition.end) {
            useless_ = Error{Fault::out_of_range, "offset " + std::to_string(from) + " of " +
                                                      text_of(where) + " is above the end " +
                                                      std::to_string(partition.end)};
        }
    }
    announce();
}

MemoryLog::MemoryReader::~MemoryReader() {
    lifetime_.end();
    if (log_.has(where_)) std::erase(log_.partition(where_).readers, this);
}

Result<Taken> MemoryLog::MemoryReader::take(std::size_t max, const RecordSink& sink) {
    if (useless_) return core::fail(*useless_);
    if (paused_) return Taken{};
    if (log_.away) {
        waiting_ = true;
        return core::fail(Fault::unavailable, kAway);
    }
    auto& partition = log_.partition(where_);
    const auto end = partition.held_at ? std::min(*partition.held_at, visible_) : visible_;
    position_ = std::max(position_, partition.start);
    auto next = std::lower_bound(partition.records.begin(), partition.records.end(), position_,
                                 [](const auto& stored, Offset at) { return stored.offset < at; });
    Taken taken;
    std::vector<core::HeaderView> headers;
    for (; next != partition.records.end() && next->offset < end && taken.records < max; ++next) {
        headers.clear();
        for (const auto& h : next->record.headers) headers.push_back({h.name, h.value});
        position_ = next->offset + 1;
        ++taken.records;
        sink({next->offset, next->time, next->record.key, next->record.value, headers});
    }
    taken.drained = next == partition.records.end() || next->offset >= end;
    if (taken.drained) {
        position_ = std::max(position_, end);
        waiting_ = true;
    }
    return taken;
}

void MemoryLog::MemoryReader::resume() {
    if (!std::exchange(paused_, false)) return;
    announce();
}

void MemoryLog::MemoryReader::wake() {
    if (std::exchange(waiting_, false)) announce();
}

void MemoryLog::MemoryReader::announce() {
    remote_.post([this] {
        const auto ready = ready_;  // it may destroy this reader
        ready();
    });
}

void MemoryLog::MemoryReader::appended(Offset end) {
    const auto delay = log_.random_delay(log_.options.read_delay_max);
    const auto now = log_.options.clock->mono();
    read_due_ = std::max(read_due_, now + delay);
    if (read_due_ == now) {
        visible_ = end;
        wake();
        return;
    }
    remote_.post_after(read_due_ - now, [this, end] {
        visible_ = std::max(visible_, end);
        wake();
    });
}

// --- log

Appended MemoryLog::State::append(TopicPartition where, core::Record record) {
    auto& s = partition(where);
    s.newest = options.stamp ? options.stamp(where) : std::max(s.newest, options.clock->wall());
    const Appended appended{s.end++, s.newest};
    s.records.push_back({appended.offset, appended.time, std::move(record)});
    for (auto* reader : s.readers) reader->appended(s.end);
    return appended;
}

MemoryLog::MemoryLog(const Options& options) : state_(std::make_unique<State>(options)) {
    BECKON_ASSERT(options.clock != nullptr, "a log needs a clock");
    BECKON_ASSERT(options.partitions >= 1, "a log has at least one partition");
}
MemoryLog::~MemoryLog() = default;

std::unique_ptr<Publisher> MemoryLog::open_publisher(core::Executor& executor) {
    return std::make_unique<MemoryPublisher>(*state_, executor);
}
std::unique_ptr<PartitionReader> MemoryLog::open_reader(TopicPartition where, Offset from,
                                                        core::Executor& executor,
                                                        std::function<void()> ready) {
    return std::make_unique<MemoryReader>(*state_, where, from, executor, std::move(ready));
}
std::unique_ptr<Member> MemoryLog::join(MemberOptions options, core::Executor& executor,
                                        std::function<void(const Members&)> changed) {
    return state_->membership.join(std::move(options), executor, std::move(changed));
}

void MemoryLog::fail_next_publishes(int count) { state_->to_fail += count; }
void MemoryLog::lose_next_answers(int count) { state_->to_lose += count; }
const std::vector<MemoryLog::Stored>& MemoryLog::records(TopicPartition where) const {
    return state_->partition(where).records;
}

void MemoryLog::ends(TopicPartition where, core::Executor& executor,
                     std::function<void(Result<Ends>)> done) {
    auto answer = [&]() -> Result<Ends> {
        if (!state_->has(where)) return core::fail(no_such(where));
        if (state_->away) return core::fail(Fault::unavailable, kAway);
        return Ends{state_->partition(where).start, state_->partition(where).end};
    }();
    executor.post([done = std::move(done), answer = std::move(answer)] { done(answer); });
}

void MemoryLog::is_made_anew(TopicPartition where, ReadUpTo read, core::Executor& executor,
                             std::function<void(Result<bool>)> done) {
    auto answer = [&]() -> Result<bool> {
        if (!state_->has(where)) return core::fail(no_such(where));
        if (state_->away) return core::fail(Fault::unavailable, kAway);
        const auto& all = records(where);
        return std::any_of(all.begin(), all.end(), [&](const auto& one) {
            return one.offset < read.next && one.time > read.youngest;
        });
    }();
    executor.post([done = std::move(done), answer = std::move(answer)] { done(answer); });
}

void MemoryLog::commit(std::string group, std::vector<GroupOffset> offsets,
                       core::Executor& executor, std::function<void(Result<void>)> done) {
    if (state_->away) {
        executor.post([done = std::move(done)] { done(core::fail(Fault::unavailable, kAway)); });
        return;
    }
    for (const auto& o : offsets) state_->groups[group][o.where] = o.offset;
    executor.post([done = std::move(done)] { done({}); });
}

void MemoryLog::committed(std::string group, std::vector<TopicPartition> partitions,
                          core::Executor& executor,
                          std::function<void(Result<std::vector<GroupOffset>>)> done) {
    auto answer = [&]() -> Result<std::vector<GroupOffset>> {
        if (state_->away) return core::fail(Fault::unavailable, kAway);
        std::vector<GroupOffset> found;
        const auto& offsets = state_->groups[group];
        for (const auto& where : partitions) {
            const auto at = offsets.find(where);
            if (at != offsets.end()) found.push_back({where, at->second});
        }
        return found;
    }();
    executor.post([done = std::move(done), answer = std::move(answer)] { done(answer); });
}

void MemoryLog::kill_members(bool killed) { state_->membership.kill_members(killed); }

void MemoryLog::set_away(bool away) {
    if (std::exchange(state_->away, away) == away) return;
    state_->membership.suspend(away);
    if (away) return;
    for (auto* publisher : state_->publishers) publisher->retry_all();
    for (auto& partitions : state_->topics) {
        for (auto& s : partitions) {
            for (auto* reader : s.readers) reader->wake();
        }
    }
}

void MemoryLog::hold_readers(TopicPartition where, bool hold) {
    auto& s = state_->partition(where);
    if (hold) {
        if (!s.held_at) s.held_at = s.end;
        return;
    }
    s.held_at.reset();
    for (auto* reader : s.readers) reader->wake();
}

void MemoryLog::compact(TopicPartition where, Offset before, bool drop_tombstones) {
    auto& s = state_->partition(where);
    std::unordered_map<std::string, Offset> newest;
    for (const auto& stored : s.records) {
        if (stored.offset < before) newest[stored.record.key] = stored.offset;
    }
    std::erase_if(s.records, [&](const Stored& stored) {
        if (stored.offset >= before) return false;
        const bool tombstone = !stored.record.value;
        return newest[stored.record.key] != stored.offset || (tombstone && drop_tombstones);
    });
}

void MemoryLog::truncate_before(TopicPartition where, Offset start) {
    auto& s = state_->partition(where);
    s.start = std::clamp(start, s.start, s.end);
    std::erase_if(s.records, [&](const Stored& stored) { return stored.offset < s.start; });
}

void MemoryLog::make_anew(TopicPartition where) {
    auto& s = state_->partition(where);
    s.records.clear();
    s.start = s.end = 0;
}

std::unique_ptr<MemoryLog> make_memory_log(const MemoryLog::Options& options) {
    return std::make_unique<MemoryLog>(options);
}

}  // namespace beckon::log
