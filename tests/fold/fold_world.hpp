#pragma once

#include "fold/fold.hpp"
#include "records/events.hpp"
#include "support/manual_clock.hpp"
#include "support/memory_log.hpp"
#include "support/test_executor.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace beckon::test {

/// The memory log with faults that it has no knobs for.
class FaultyLog final : public log::EventLog {
public:
    explicit FaultyLog(log::MemoryLog& inner) : inner_(inner) {}

    int ends_to_fail = 0;
    std::optional<std::size_t> records_left;  ///< that readers pass on; the rest is on its way
    /// The fault of the next take() of any reader, once; and the fault of every take() until it is
    /// reset.
    std::optional<core::Fault> next_take;
    std::optional<core::Fault> every_take;
    /// This many takes (every other one of a reader) find nothing, although there is more; the
    /// reader is ready at once.
    int dry_takes = 0;
    std::size_t readers_opened = 0;
    std::size_t offsets_committed = 0;

    std::unique_ptr<log::Publisher> open_publisher(core::Executor& executor) override {
        return inner_.open_publisher(executor);
    }
    std::unique_ptr<log::PartitionReader> open_reader(log::TopicPartition where, core::Offset from,
                                                      core::Executor& executor,
                                                      std::function<void()> ready) override {
        ++readers_opened;
        return std::make_unique<Reader>(*this, inner_.open_reader(where, from, executor, ready),
                                        [&executor, ready] { executor.post(ready); });
    }
    void ends(log::TopicPartition where, core::Executor& executor,
              std::function<void(core::Result<log::Ends>)> done) override {
        if (ends_to_fail == 0) return inner_.ends(where, executor, std::move(done));
        --ends_to_fail;
        executor.post([done] { done(core::fail(core::Fault::unavailable, "no ends")); });
    }
    void is_made_anew(log::TopicPartition where, log::ReadUpTo read, core::Executor& executor,
                      std::function<void(core::Result<bool>)> done) override {
        inner_.is_made_anew(where, read, executor, std::move(done));
    }
    void commit(std::string group, std::vector<log::GroupOffset> offsets, core::Executor& executor,
                std::function<void(core::Result<void>)> done) override {
        ++offsets_committed;
        inner_.commit(std::move(group), std::move(offsets), executor, std::move(done));
    }
    void committed(std::string group, std::vector<log::TopicPartition> partitions,
                   core::Executor& executor,
                   std::function<void(core::Result<std::vector<log::GroupOffset>>)> done) override {
        inner_.committed(std::move(group), std::move(partitions), executor, std::move(done));
    }
    std::unique_ptr<log::Member> join(log::MemberOptions options, core::Executor& executor,
                                      std::function<void(const log::Members&)> changed) override {
        return inner_.join(std::move(options), executor, std::move(changed));
    }

private:
    class Reader final : public log::PartitionReader {
    public:
        Reader(FaultyLog& log, std::unique_ptr<log::PartitionReader> inner,
               std::function<void()> ready)
            : log_(log), inner_(std::move(inner)), ready_(std::move(ready)) {}
        core::Result<log::Taken> take(std::size_t max, const log::RecordSink& sink) override {
            const auto fault =
                log_.every_take ? log_.every_take : std::exchange(log_.next_take, std::nullopt);
            if (fault) return core::fail(*fault, "made up");
            dry_ = log_.dry_takes > 0 && !dry_;
            if (dry_) {
                --log_.dry_takes;
                ready_();
                return core::fail(core::Fault::unavailable, "on its way");
            }
            if (!log_.records_left) return inner_->take(max, sink);
            if (*log_.records_left == 0) return core::fail(core::Fault::unavailable, "on its way");
            auto taken = inner_->take(std::min(max, *log_.records_left), sink);
            if (taken) *log_.records_left -= taken->records;
            return taken;
        }
        core::Offset position() const override { return inner_->position(); }
        void pause() override { inner_->pause(); }
        void resume() override { inner_->resume(); }

    private:
        FaultyLog& log_;
        std::unique_ptr<log::PartitionReader> inner_;
        const std::function<void()> ready_;
        bool dry_ = false;  ///< the last take was
    };

    log::MemoryLog& inner_;
};

/// A state that is a list of keys for each input, with a "disk" and faults.
class ListState final : public fold::State {
public:
    struct Contents {
        std::map<fold::InputIndex, std::vector<std::string>> keys;
        std::map<fold::InputIndex, core::Checkpoint> checkpoints;
        std::vector<std::string> decisions;
        bool operator==(const Contents&) const = default;
    };

    // --- knobs
    std::size_t commits_at = 10'000;  ///< records
    int commits_to_fail = 0;
    core::Fault commit_fault = core::Fault::full;
    bool drops_what_fails = false;  ///< a commit that fails goes back to what is on disk
    bool reports_what_it_drops = false;
    int clears_to_fail = 0;
    bool keeps_nothing = false;  ///< in memory only
    std::function<void()> at_committed;
    std::function<void()> at_replay;

    // --- what happened
    Contents disk;
    Contents uncommitted;            ///< the disk, and what is not committed
    std::vector<std::string> calls;  ///< caught_up, restarted, cleared
    std::size_t commits = 0;
    std::size_t most_in_a_commit = 0;
    std::size_t replayed = 0;
    std::vector<Contents> seen_committed;  ///< the disk at each turn_ended()

    void decide(std::string what) { uncommitted.decisions.push_back(std::move(what)); }

    std::optional<core::Checkpoint> checkpoint(fold::InputIndex input) const override {
        const auto known = uncommitted.checkpoints.find(input);
        if (keeps_nothing || known == uncommitted.checkpoints.end()) return std::nullopt;
        return known->second;
    }
    void replay(fold::InputIndex input, const core::RecordView& record) override {
        ++replayed;
        ++in_this_commit_;
        if (at_replay) at_replay();
        if (!core::is_control_key(record.key)) uncommitted.keys[input].emplace_back(record.key);
    }
    void advance(fold::InputIndex input, core::Offset next,
                 std::optional<core::Timestamp> caught_up, core::Timestamp youngest) override {
        auto& at = uncommitted.checkpoints[input];
        at.next = next;
        at.youngest = youngest;
        if (caught_up) at.caught_up = *caught_up;
    }
    bool dirty() const override { return !(uncommitted == disk); }
    bool commit_due() const override { return in_this_commit_ >= commits_at; }
    bool dropped_batch() const override { return dropped_; }
    core::Result<void> commit() override {
        if (commits_to_fail > 0) {
            --commits_to_fail;
            if (drops_what_fails) uncommitted = disk;
            dropped_ = drops_what_fails && reports_what_it_drops;
            return core::fail(commit_fault, "made up");
        }
        dropped_ = false;
        ++commits;
        most_in_a_commit = std::max(most_in_a_commit, std::exchange(in_this_commit_, 0));
        disk = uncommitted;
        return {};
    }
    core::Result<void> clear() override {
        if (clears_to_fail > 0) {
            --clears_to_fail;
            return core::fail(core::Fault::unavailable, "made up");
        }
        calls.emplace_back("cleared");
        disk = uncommitted = {};
        return {};
    }
    void turn_ended() override {
        seen_committed.push_back(disk);
        if (at_committed) at_committed();
    }
    void caught_up() override { calls.emplace_back("caught_up"); }
    void restarted(std::string_view) override {
        calls.emplace_back("restarted");
        uncommitted = disk;
    }
    void progressed() override { ++progressed_; }
    std::size_t times_progressed() const { return progressed_; }

private:
    std::size_t in_this_commit_ = 0;
    bool dropped_ = false;  ///< by the last commit
    std::size_t progressed_ = 0;
};

/// A fold of two partitions over the memory log.
struct FoldWorld {
    explicit FoldWorld(core::Duration append_delay_max = std::chrono::milliseconds{10})
        : memory(log::make_memory_log(
              {.seed = 1, .partitions = 4, .clock = &clock, .append_delay_max = append_delay_max})),
          publisher(memory->open_publisher(executor)) {}

    static constexpr log::TopicPartition kFirst{log::Topic::kNotifications, 1};
    static constexpr log::TopicPartition kSecond{log::Topic::kSubscriptions, 1};

    ManualClock clock;
    SimExecutor executor{clock};
    std::unique_ptr<log::MemoryLog> memory;
    std::unique_ptr<log::Publisher> publisher;
    FaultyLog log{*memory};
    ListState state;
    fold::Options options{.folder = "test",
                          .inputs = {kFirst, kSecond},
                          .node = {"0123456789abcdef"},
                          .group = "testers"};
    std::unique_ptr<fold::Fold> fold;
    std::vector<std::string> answers;  ///< "ok" or the fault, in order

    void start() {
        fold = std::make_unique<fold::Fold>(
            options, fold::Fold::Context{log, *publisher, executor, clock}, state);
        fold->start();
    }
    /// Starts it, and waits until the start is over.
    void start_and_follow() {
        start();
        executor.run_for(std::chrono::seconds{1});
    }
    /// A new process on the same disk.
    void crash_and_start() {
        fold.reset();
        state.uncommitted = state.disk;
        state.calls.clear();
        state.replayed = 0;
        start();
    }
    void publish(log::TopicPartition where, const std::string& key) {
        publisher->publish(where, core::Record{key, "x", {}}, [](const auto&) {});
    }
    void publish_many(log::TopicPartition where, int count) {
        for (int i = 0; i < count; ++i) publish(where, "k" + std::to_string(i));
    }
    fold::Answer note() {
        return [this](const core::Result<void>& result) {
            answers.push_back(result ? "ok" : std::string{core::to_string(result.error().fault)});
        };
    }
    void run_for(core::Duration span) { executor.run_for(span); }
    bool following() const { return fold->phase() == fold::Phase::following; }
    std::size_t barriers_in(log::TopicPartition where) const {
        std::size_t count = 0;
        for (const auto& stored : memory->records(where)) {
            if (core::is_control_key(stored.record.key)) ++count;
        }
        return count;
    }
};

}  // namespace beckon::test
