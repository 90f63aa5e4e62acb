#include "support/memory_log.hpp"

#include "core/assert.hpp"
#include "log/local/door.hpp"
#include "log/local/layout.hpp"
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

class MemoryReader;

/// One partition at rest and who reads it.
struct Shelf {
    std::vector<MemoryLog::Stored> records;  ///< in order of their offsets, with gaps
    Offset start = 0;
    Offset end = 0;
    core::Timestamp newest{};
    std::optional<Offset> held_at;  ///< readers see nothing from here on
    std::vector<MemoryReader*> readers;
};

class MemoryLogImpl;

/// Tries to append what it was given in the order in which it came: each partition has a queue
/// whose head waits for its delay and, while the log is away, for its return or its time-out.
class MemoryPublisher final : public Publisher {
public:
    MemoryPublisher(MemoryLogImpl& log, core::Executor& executor);
    ~MemoryPublisher() override;
    MemoryPublisher(const MemoryPublisher&) = delete;
    MemoryPublisher& operator=(const MemoryPublisher&) = delete;

    void publish(TopicPartition where, core::Record record, AppendDone done) override;
    std::size_t unanswered() const override { return unanswered_; }

    /// The log is back.
    void retry_all();

private:
    enum class Fate { append, fail, lose_answer };
    struct Waiting {
        core::Record record;
        AppendDone done;
        MonoTime due;
        MonoTime deadline;
        Fate fate;
    };
    struct Answer {
        AppendDone done;
        Result<Appended> result;
    };
    struct Lane {
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

    MemoryLogImpl& log_;
    const std::shared_ptr<Door> door_;
    std::map<TopicPartition, Lane> lanes_;
    std::size_t unanswered_ = 0;
};

class MemoryReader final : public PartitionReader {
public:
    MemoryReader(MemoryLogImpl& log, TopicPartition where, Offset from, core::Executor& executor,
                 std::function<void()> ready);
    ~MemoryReader() override;
    MemoryReader(const MemoryReader&) = delete;
    MemoryReader& operator=(const MemoryReader&) = delete;

    Result<Taken> take(std::size_t max, const RecordSink& sink) override;
    Offset position() const override { return position_; }
    void pause() override { paused_ = true; }
    void resume() override;

    /// Something may be there now: tells the owner if it waits for that.
    void wake();
    void appended(Offset end);

private:
    void announce();

    MemoryLogImpl& log_;
    const TopicPartition where_;
    const std::shared_ptr<Door> door_;
    const std::function<void()> ready_;
    std::optional<Error> useless_;
    Offset position_;
    Offset visible_ = 0;   ///< what the read delay lets through
    MonoTime read_due_{};  ///< when the newest record may be seen
    bool paused_ = false;
    bool waiting_ = false;  ///< take() said drained (or unavailable)
};

class MemoryLogImpl final : public MemoryLog {
public:
    explicit MemoryLogImpl(const Options& options)
        : options_(options), random_(options.seed), membership_(*options.clock) {
        for (int i = 0; i < Topic::kCount; ++i) {
            const auto count = partitions_of(Topic::from_index(i), options.partitions);
            topics_.emplace_back(static_cast<std::size_t>(count));
        }
    }

    std::unique_ptr<Publisher> open_publisher(core::Executor& executor) override {
        return std::make_unique<MemoryPublisher>(*this, executor);
    }
    std::unique_ptr<PartitionReader> open_reader(TopicPartition where, Offset from,
                                                 core::Executor& executor,
                                                 std::function<void()> ready) override {
        return std::make_unique<MemoryReader>(*this, where, from, executor, std::move(ready));
    }
    void ends(TopicPartition where, core::Executor& executor,
              std::function<void(Result<Ends>)> done) override;
    void commit(std::string group, std::vector<GroupOffset> offsets, core::Executor& executor,
                std::function<void(Result<void>)> done) override;
    void committed(std::string group, std::vector<TopicPartition> partitions,
                   core::Executor& executor,
                   std::function<void(Result<std::vector<GroupOffset>>)> done) override;
    std::unique_ptr<Member> join(MemberOptions options, core::Executor& executor,
                                 std::function<void(const Members&)> changed) override {
        return membership_.join(std::move(options), executor, std::move(changed));
    }

    void fail_next_publishes(int count) override { to_fail_ += count; }
    void lose_next_answers(int count) override { to_lose_ += count; }
    void set_away(bool away) override;
    void hold_readers(TopicPartition where, bool hold) override;
    void compact(TopicPartition where, Offset before, bool drop_tombstones) override;
    void truncate_before(TopicPartition where, Offset start) override;
    const std::vector<Stored>& records(TopicPartition where) const override {
        BECKON_ASSERT(has(where), "the partition exists");
        return topics_[static_cast<std::size_t>(where.topic.index())]
                      [static_cast<std::size_t>(where.partition)]
                          .records;
    }

private:
    friend class MemoryPublisher;
    friend class MemoryReader;

    bool has(const TopicPartition& where) const { return exists(where, options_.partitions); }
    Shelf& shelf(const TopicPartition& where) {
        BECKON_ASSERT(has(where), "the partition exists");
        return topics_[static_cast<std::size_t>(where.topic.index())]
                      [static_cast<std::size_t>(where.partition)];
    }
    Duration random_delay(Duration max) {
        if (max <= Duration::zero()) return Duration::zero();
        return Duration{
            static_cast<Duration::rep>(random_() % (static_cast<std::uint64_t>(max.count()) + 1))};
    }
    static bool use_up(int& count) {
        if (count == 0) return false;
        --count;
        return true;
    }
    Appended append(TopicPartition where, core::Record record);

    const Options options_;
    std::mt19937_64 random_;
    std::vector<std::vector<Shelf>> topics_;
    std::vector<MemoryPublisher*> publishers_;
    LocalMembership membership_;
    std::map<std::string, std::map<TopicPartition, Offset>> groups_;
    int to_fail_ = 0;
    int to_lose_ = 0;
    bool away_ = false;
};

// --- publisher

MemoryPublisher::MemoryPublisher(MemoryLogImpl& log, core::Executor& executor)
    : log_(log), door_(std::make_shared<Door>(executor)) {
    log_.publishers_.push_back(this);
}

MemoryPublisher::~MemoryPublisher() {
    door_->shut();
    std::erase(log_.publishers_, this);
}

void MemoryPublisher::publish(TopicPartition where, core::Record record, AppendDone done) {
    if (!log_.has(where)) return refuse(std::move(done), no_such(where));
    if (size_of(record) > kRecordBytesMax) {
        return refuse(std::move(done),
                      {Fault::too_large,
                       "a record has at most " + std::to_string(kRecordBytesMax) + " bytes"});
    }
    if (unanswered_ >= log_.options_.waiting_max) {
        return refuse(std::move(done), {Fault::full, "too many publishes wait for the log"});
    }
    auto fate = Fate::append;
    if (MemoryLogImpl::use_up(log_.to_fail_)) {
        fate = Fate::fail;
    } else if (MemoryLogImpl::use_up(log_.to_lose_)) {
        fate = Fate::lose_answer;
    }
    ++unanswered_;
    auto& lane = lanes_[where];
    const auto now = log_.options_.clock->mono();
    // Half of the delay lies before the append and half after it, so that a crash between them
    // leaves a record in the log whose answer nobody saw.
    lane.append_due =
        std::max(lane.append_due, now + log_.random_delay(log_.options_.append_delay_max / 2));
    lane.waiting.push_back({std::move(record), std::move(done), lane.append_due,
                            now + log_.options_.publish_timeout, fate});
    door_->post_after(lane.append_due - now, [this, where] { pump(where); });
}

void MemoryPublisher::refuse(AppendDone done, Error error) {
    door_->post([done = std::move(done), error = std::move(error)] { done(core::fail(error)); });
}

void MemoryPublisher::pump(TopicPartition where) {
    auto& lane = lanes_[where];
    while (!lane.waiting.empty()) {
        auto& head = lane.waiting.front();
        const auto now = log_.options_.clock->mono();
        if (now < head.due) return;  // its own task is still to come
        if (log_.away_ && now < head.deadline) {
            if (std::exchange(lane.watching_deadline, true)) return;
            door_->post_after(head.deadline - now, [this, where] {
                lanes_[where].watching_deadline = false;
                pump(where);
            });
            return;
        }
        auto result = append(where, head);
        auto done = std::move(head.done);
        lane.waiting.pop_front();
        answer_later(where, std::move(done), std::move(result));
    }
}

Result<Appended> MemoryPublisher::append(TopicPartition where, Waiting& head) {
    if (log_.away_) return core::fail(Fault::unavailable, kAway);
    if (head.fate == Fate::fail) return core::fail(Fault::unavailable, "the append failed");
    const auto appended = log_.append(where, std::move(head.record));
    if (head.fate == Fate::lose_answer)
        return core::fail(Fault::unavailable, "the answer was lost");
    return appended;
}

void MemoryPublisher::answer_later(TopicPartition where, AppendDone done, Result<Appended> result) {
    auto& lane = lanes_[where];
    const auto now = log_.options_.clock->mono();
    lane.answer_due =
        std::max(lane.answer_due, now + log_.random_delay(log_.options_.append_delay_max / 2));
    lane.answers.push_back({std::move(done), std::move(result)});
    door_->post_after(lane.answer_due - now, [this, where] {
        auto& answers = lanes_[where].answers;
        auto answer = std::move(answers.front());
        answers.pop_front();
        --unanswered_;
        answer.done(answer.result);  // the last: it may destroy this publisher
    });
}

void MemoryPublisher::retry_all() {
    for (const auto& [where, lane] : lanes_) {
        if (!lane.waiting.empty()) door_->post([this, where = where] { pump(where); });
    }
}

// --- reader

MemoryReader::MemoryReader(MemoryLogImpl& log, TopicPartition where, Offset from,
                           core::Executor& executor, std::function<void()> ready)
    : log_(log),
      where_(where),
      door_(std::make_shared<Door>(executor)),
      ready_(std::move(ready)),
      position_(from) {
    if (!log_.has(where)) {
        useless_ = no_such(where);
    } else {
        auto& shelf = log_.shelf(where);
        shelf.readers.push_back(this);
        visible_ = shelf.end;
        position_ = std::max(position_, shelf.start);
        if (from > shelf.end) {
            useless_ = Error{Fault::out_of_range, "offset " + std::to_string(from) + " of " +
                                                      text_of(where) + " is above the end " +
                                                      std::to_string(shelf.end)};
        }
    }
    announce();
}

MemoryReader::~MemoryReader() {
    door_->shut();
    if (log_.has(where_)) std::erase(log_.shelf(where_).readers, this);
}

Result<Taken> MemoryReader::take(std::size_t max, const RecordSink& sink) {
    if (useless_) return core::fail(*useless_);
    if (paused_) return Taken{};
    if (log_.away_) {
        waiting_ = true;
        return core::fail(Fault::unavailable, kAway);
    }
    auto& shelf = log_.shelf(where_);
    const auto end = shelf.held_at ? std::min(*shelf.held_at, visible_) : visible_;
    position_ = std::max(position_, shelf.start);
    auto next = std::lower_bound(shelf.records.begin(), shelf.records.end(), position_,
                                 [](const auto& stored, Offset at) { return stored.offset < at; });
    Taken taken;
    std::vector<core::HeaderView> headers;
    for (; next != shelf.records.end() && next->offset < end && taken.records < max; ++next) {
        headers.clear();
        for (const auto& h : next->record.headers) headers.push_back({h.name, h.value});
        position_ = next->offset + 1;
        ++taken.records;
        sink({next->offset, next->time, next->record.key, next->record.value, headers});
    }
    taken.drained = next == shelf.records.end() || next->offset >= end;
    if (taken.drained) {
        position_ = std::max(position_, end);
        waiting_ = true;
    }
    return taken;
}

void MemoryReader::resume() {
    if (!std::exchange(paused_, false)) return;
    announce();
}

void MemoryReader::wake() {
    if (std::exchange(waiting_, false)) announce();
}

void MemoryReader::announce() {
    door_->post([this] {
        const auto ready = ready_;  // it may destroy this reader
        ready();
    });
}

void MemoryReader::appended(Offset end) {
    const auto delay = log_.random_delay(log_.options_.read_delay_max);
    const auto now = log_.options_.clock->mono();
    read_due_ = std::max(read_due_, now + delay);
    if (read_due_ == now) {
        visible_ = end;
        wake();
        return;
    }
    door_->post_after(read_due_ - now, [this, end] {
        visible_ = std::max(visible_, end);
        wake();
    });
}

// --- log

Appended MemoryLogImpl::append(TopicPartition where, core::Record record) {
    auto& s = shelf(where);
    s.newest = std::max(s.newest, options_.clock->wall());
    const Appended appended{s.end++, s.newest};
    s.records.push_back({appended.offset, appended.time, std::move(record)});
    for (auto* reader : s.readers) reader->appended(s.end);
    return appended;
}

void MemoryLogImpl::ends(TopicPartition where, core::Executor& executor,
                         std::function<void(Result<Ends>)> done) {
    auto answer = [&]() -> Result<Ends> {
        if (!has(where)) return core::fail(no_such(where));
        if (away_) return core::fail(Fault::unavailable, kAway);
        return Ends{shelf(where).start, shelf(where).end};
    }();
    executor.post([done = std::move(done), answer = std::move(answer)] { done(answer); });
}

void MemoryLogImpl::commit(std::string group, std::vector<GroupOffset> offsets,
                           core::Executor& executor, std::function<void(Result<void>)> done) {
    if (away_) {
        executor.post([done = std::move(done)] { done(core::fail(Fault::unavailable, kAway)); });
        return;
    }
    for (const auto& o : offsets) groups_[group][o.where] = o.offset;
    executor.post([done = std::move(done)] { done({}); });
}

void MemoryLogImpl::committed(std::string group, std::vector<TopicPartition> partitions,
                              core::Executor& executor,
                              std::function<void(Result<std::vector<GroupOffset>>)> done) {
    auto answer = [&]() -> Result<std::vector<GroupOffset>> {
        if (away_) return core::fail(Fault::unavailable, kAway);
        std::vector<GroupOffset> found;
        const auto& offsets = groups_[group];
        for (const auto& where : partitions) {
            const auto at = offsets.find(where);
            if (at != offsets.end()) found.push_back({where, at->second});
        }
        return found;
    }();
    executor.post([done = std::move(done), answer = std::move(answer)] { done(answer); });
}

void MemoryLogImpl::set_away(bool away) {
    if (std::exchange(away_, away) == away) return;
    membership_.suspend(away);
    if (away) return;
    for (auto* publisher : publishers_) publisher->retry_all();
    for (auto& partitions : topics_) {
        for (auto& s : partitions) {
            for (auto* reader : s.readers) reader->wake();
        }
    }
}

void MemoryLogImpl::hold_readers(TopicPartition where, bool hold) {
    auto& s = shelf(where);
    if (hold) {
        if (!s.held_at) s.held_at = s.end;
        return;
    }
    s.held_at.reset();
    for (auto* reader : s.readers) reader->wake();
}

void MemoryLogImpl::compact(TopicPartition where, Offset before, bool drop_tombstones) {
    auto& s = shelf(where);
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

void MemoryLogImpl::truncate_before(TopicPartition where, Offset start) {
    auto& s = shelf(where);
    s.start = std::clamp(start, s.start, s.end);
    std::erase_if(s.records, [&](const Stored& stored) { return stored.offset < s.start; });
}

}  // namespace

std::unique_ptr<MemoryLog> make_memory_log(const MemoryLog::Options& options) {
    BECKON_ASSERT(options.clock != nullptr, "a log needs a clock");
    BECKON_ASSERT(options.partitions >= 1, "a log has at least one partition");
    return std::make_unique<MemoryLogImpl>(options);
}

}  // namespace beckon::log
