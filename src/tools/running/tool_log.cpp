#include "tools/running/tool_log.hpp"

#include "app/installation/key_ring_guard.hpp"
#include "core/json_text.hpp"
#include "core/lifetime.hpp"
#include "core/percent.hpp"
#include "inspect/log/log_batch.hpp"
#include "inspect/log/log_service.hpp"
#include "log/blocking_executor.hpp"
#include "tools/running/ops_client.hpp"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include <nlohmann/json.hpp>

namespace beckon::tools {

namespace {

constexpr std::chrono::milliseconds kControlTimeout{10'000};

}  // namespace

core::Result<void> publish_one(log::EventLog& log, log::TopicPartition where, core::Record record,
                               std::chrono::milliseconds timeout) {
    log::BlockingExecutor executor;
    const auto publisher = log.open_publisher(executor);
    std::optional<core::Result<log::Appended>> answer;
    publisher->publish(where, std::move(record), [&answer](const auto& done) { answer = done; });
    const auto until = core::SystemClock{}.mono() + timeout;
    if (!executor.wait_until([&] { return answer.has_value(); }, until)) {
        return core::fail(core::Fault::timed_out, where.topic.name() + " was not written in time");
    }
    return *answer ? core::Result<void>{} : core::fail(answer->error());
}

bool is_served(const app::Config& config) {
    return !config.on_kafka() && app::DataDirectory::in_use(config.data);
}

ToolLog::ToolLog(const app::Config& config) {
    if (is_served(config)) {
        running_ = open_running_log(config.ops, inspect::log_proof(*app::load_key_ring(config)));
    } else {
        installation_.emplace(config);
    }
}

const log::Control& ToolLog::control() {
    if (installation_) return installation_->control();
    if (!control_) {
        control_ =
            app::must(log::read_control(*running_, kControlTimeout), "cannot read control: ");
    }
    return *control_;
}

using core::Fault;
using core::Offset;

namespace {

/// The first batch is small, since some readers look at one record only.
constexpr std::size_t kFirstBytes = 64U << 10;
constexpr std::size_t kBytesMax = 4U << 20;
constexpr std::size_t kGrowth = 8;
/// Batches that are fetched and not taken yet.
constexpr std::size_t kAhead = 2;
/// After the end was reached, and after a failure.
constexpr std::chrono::milliseconds kAskAgain{250};

/// The error of a page that is not 200.
core::Error error_of(const OpsConnection::Raw& reply) {
    const auto body = core::parse_json(reply.body);
    if (!body.is_object() || !body.contains("fault")) {
        return {Fault::not_found, "the process at the ops port offers no log to read (HTTP " +
                                      std::to_string(reply.status) + ")"};
    }
    const auto fault = core::value_named<Fault>(body.value("fault", ""));
    return {fault.value_or(Fault::unavailable), body.value("error", "")};
}

core::Error read_only() {
    return {Fault::conflict, "the log of a running process is only read from outside"};
}

core::Result<std::string> body_of(OpsConnection& connection, const std::string& target) {
    auto reply = connection.get(target);
    if (!reply) return core::fail(reply.error());
    if (reply->status != 200) return core::fail(error_of(*reply));
    return std::move(reply->body);
}

/// "/log/records?topic=notifications&partition=3&from=0&bytes=65536"
std::string records_target(log::TopicPartition where, Offset from, std::size_t bytes) {
    return "/log/records?topic=" + where.topic.name() +
           "&partition=" + std::to_string(where.partition) + "&from=" + std::to_string(from) +
           "&bytes=" + std::to_string(bytes);
}

class RunningReader final : public log::PartitionReader {
public:
    RunningReader(OpsConnection connection, log::TopicPartition where, Offset from,
                  core::Executor& executor, std::function<void()> ready)
        : connection_(std::move(connection)),
          where_(where),
          ready_(std::move(ready)),
          position_(from),
          lifetime_(executor) {
        fetcher_ = std::jthread{[this, from, to_owner = lifetime_.remote()](
                                    const std::stop_token& stop) { fetch(from, to_owner, stop); }};
    }
    ~RunningReader() override { lifetime_.end(); }

    core::Result<log::Taken> take(std::size_t max, const log::RecordSink& sink) override {
        log::Taken taken;
        while (taken.records < max && !paused_) {
            if (!batch_) {
                if (auto next = next_batch(); !next) {
                    if (taken.records > 0) return taken;  // returned by the next call
                    return core::fail(next.error());
                }
            }
            while (taken.records < max && !batch_->at_end()) {
                const auto done = batch_->take([&](const core::RecordView& record) {
                    position_ = record.offset + 1;
                    sink(record);
                });
                if (!done) return core::fail(done.error());
                ++taken.records;
            }
            if (!batch_->at_end()) return taken;
            position_ = std::max(position_, batch_->next());
            taken.drained = batch_->drained();
            batch_.reset();
            if (taken.drained) return taken;
        }
        return taken;
    }

    Offset position() const override { return position_; }
    void pause() override { paused_ = true; }
    void resume() override {
        if (!std::exchange(paused_, false)) return;
        lifetime_.remote().post(ready_);
    }

private:
    /// Moves fetched records to `batch_`. Errors: those of the process; unavailable: on its way.
    core::Result<void> next_batch() {
        const std::scoped_lock lock{mutex_};
        if (fetched_.empty()) {
            if (failed_) return core::fail(*failed_);
            return core::fail(Fault::unavailable, "the records are on their way");
        }
        batch_ = std::move(fetched_.front());
        fetched_.pop_front();
        wake_.notify_one();
        return {};
    }

    void fetch(Offset from, const core::Lifetime::Remote& to_owner, const std::stop_token& stop) {
        auto bytes = kFirstBytes;
        while (wait_for_capacity(stop)) {
            auto body = body_of(connection_, records_target(where_, from, bytes));
            auto batch = body ? inspect::LogBatchReader::open(std::move(*body))
                              : core::Result<inspect::LogBatchReader>{core::fail(body.error())};
            const bool again = batch ? batch->drained() : batch.error().retryable();
            if (batch) from = batch->next();
            const bool useless = !batch && !again;
            keep(std::move(batch));
            to_owner.post(ready_);
            if (useless) return;
            bytes = std::min(bytes * kGrowth, kBytesMax);
            if (again) rest(stop);
        }
    }

    /// False: the reader ends.
    bool wait_for_capacity(const std::stop_token& stop) {
        std::unique_lock lock{mutex_};
        wake_.wait(lock, stop, [this] { return fetched_.size() < kAhead; });
        return !stop.stop_requested();
    }
    void rest(const std::stop_token& stop) {
        std::unique_lock lock{mutex_};
        wake_.wait_for(lock, stop, kAskAgain, [] { return false; });
    }
    void keep(core::Result<inspect::LogBatchReader> batch) {
        const std::scoped_lock lock{mutex_};
        failed_ = batch ? std::nullopt : std::optional{batch.error()};
        if (batch) fetched_.push_back(std::move(*batch));
    }

    // of the fetcher
    OpsConnection connection_;

    const log::TopicPartition where_;
    const std::function<void()> ready_;

    // of the owner's thread
    Offset position_;
    bool paused_ = false;
    std::optional<inspect::LogBatchReader> batch_;  ///< partly taken

    std::mutex mutex_;
    std::condition_variable_any wake_;
    std::deque<inspect::LogBatchReader> fetched_;  ///< under the mutex, as is the next
    std::optional<core::Error> failed_;

    core::Lifetime lifetime_;
    std::jthread fetcher_;  ///< ends first
};

class ReadOnlyPublisher final : public log::Publisher {
public:
    explicit ReadOnlyPublisher(core::Executor& executor) : lifetime_(executor) {}
    void publish(log::TopicPartition, core::Record, log::AppendDone done) override {
        lifetime_.remote().post([done = std::move(done)] { done(core::fail(read_only())); });
    }
    std::size_t unanswered() const override { return 0; }

private:
    core::Lifetime lifetime_;
};

class RunningLog final : public log::EventLog {
public:
    RunningLog(ops::OpsConfig ops, std::string proof)
        : ops_(std::move(ops)), proof_(std::move(proof)), connection_(ops_, proof_) {}

    std::unique_ptr<log::Publisher> open_publisher(core::Executor& executor) override {
        return std::make_unique<ReadOnlyPublisher>(executor);
    }
    std::unique_ptr<log::PartitionReader> open_reader(log::TopicPartition where, Offset from,
                                                      core::Executor& executor,
                                                      std::function<void()> ready) override {
        return std::make_unique<RunningReader>(OpsConnection{ops_, proof_}, where, from, executor,
                                               std::move(ready));
    }
    void ends(log::TopicPartition where, core::Executor& executor,
              std::function<void(core::Result<log::Ends>)> done) override {
        executor.post([done = std::move(done), ends = ask_ends(where)] { done(ends); });
    }
    void commit(std::string, std::vector<log::GroupOffset>, core::Executor& executor,
                std::function<void(core::Result<void>)> done) override {
        executor.post([done = std::move(done)] { done(core::fail(read_only())); });
    }
    void committed(std::string group, std::vector<log::TopicPartition> partitions,
                   core::Executor& executor,
                   std::function<void(core::Result<std::vector<log::GroupOffset>>)> done) override {
        executor.post([done = std::move(done), offsets = ask_committed(group, partitions)] {
            done(offsets);
        });
    }
    std::unique_ptr<log::Member> join(log::MemberOptions, core::Executor&,
                                      std::function<void(const log::Members&)>) override {
        return nullptr;
    }

private:
    core::Result<nlohmann::json> ask(const std::string& target) {
        const auto body = body_of(connection_, target);
        if (!body) return core::fail(body.error());
        auto parsed = core::parse_json(*body);
        if (parsed.is_object()) return parsed;
        return core::fail(Fault::corrupt, "the ops port answers with something else than JSON");
    }

    core::Result<log::Ends> ask_ends(log::TopicPartition where) {
        const auto name = std::to_string(where.partition);
        const auto body = ask("/log/ends?topic=" + where.topic.name() + "&partitions=" + name);
        if (!body) return core::fail(body.error());
        if (!body->contains(name)) return core::fail(Fault::not_found, "no such partition");
        const auto& ends = body->at(name);
        return log::Ends{ends.at(0).get<Offset>(), ends.at(1).get<Offset>()};
    }

    core::Result<std::vector<log::GroupOffset>> ask_committed(
        const std::string& group, const std::vector<log::TopicPartition>& partitions) {
        std::map<log::Topic, std::string> wanted;
        for (const auto& where : partitions) {
            auto& list = wanted[where.topic];
            list += (list.empty() ? "" : ",") + std::to_string(where.partition);
        }
        std::vector<log::GroupOffset> out;
        for (const auto& [topic, list] : wanted) {
            const auto body = ask("/log/committed?group=" + core::percent_encoded(group) +
                                  "&topic=" + topic.name() + "&partitions=" + list);
            if (!body) return core::fail(body.error());
            for (const auto& [partition, offset] : body->items()) {
                out.push_back({{topic, std::stoi(partition)}, offset.get<Offset>()});
            }
        }
        return out;
    }

    const ops::OpsConfig ops_;
    const std::string proof_;
    OpsConnection connection_;
};

}  // namespace

std::unique_ptr<log::EventLog> open_running_log(const ops::OpsConfig& ops, std::string proof) {
    return std::make_unique<RunningLog>(ops, std::move(proof));
}

}  // namespace beckon::tools
