#include "sim/host_log.hpp"

#include "core/lifetime.hpp"

#include <deque>
#include <optional>
#include <utility>

namespace beckon::sim {

namespace {

/// As MemoryLog's: a publish that waits for longer has failed.
constexpr core::Duration kPublishTimeout = std::chrono::seconds{5};

core::Error away_error() { return {core::Fault::unavailable, "this host cannot reach the log"}; }

}  // namespace

struct HostLog::Route {
    const core::Clock& clock;
    bool away = false;
    std::vector<HostPublisher*> publishers = {};
    std::vector<HostReader*> readers = {};
    std::vector<HostMember*> members = {};
};

class HostLog::HostPublisher final : public log::Publisher {
public:
    HostPublisher(Route& route, core::Executor& executor, std::unique_ptr<log::Publisher> inner)
        : route_(route),
          lifetime_(executor),
          remote_(lifetime_.remote()),
          inner_(std::move(inner)) {
        route_.publishers.push_back(this);
    }
    ~HostPublisher() override {
        lifetime_.end();
        std::erase(route_.publishers, this);
    }
    HostPublisher(const HostPublisher&) = delete;
    HostPublisher& operator=(const HostPublisher&) = delete;

    void publish(log::TopicPartition where, core::Record record, log::AppendDone done) override {
        if (!route_.away) return pass_on(where, std::move(record), std::move(done));
        waiting_.push_back(
            {where, std::move(record), std::move(done), route_.clock.mono() + kPublishTimeout});
        remote_.post_after(kPublishTimeout, [this] { give_up(); });
    }
    std::size_t unanswered() const override { return inner_->unanswered() + waiting_.size(); }

    /// The connection is back: waiting publishes go in their order.
    void back() {
        for (auto& one : std::exchange(waiting_, {})) {
            pass_on(one.where, std::move(one.record), std::move(one.done));
        }
    }

private:
    struct Waiting {
        log::TopicPartition where;
        core::Record record;
        log::AppendDone done;
        core::MonoTime deadline;
    };

    void pass_on(log::TopicPartition where, core::Record record, log::AppendDone done) {
        inner_->publish(where, std::move(record),
                        [&route = route_, done = std::move(done)](const auto& result) {
                            if (route.away) return done(core::fail(away_error()));
                            done(result);
                        });
    }
    void give_up() {
        const auto term = lifetime_.term();
        while (!waiting_.empty() && waiting_.front().deadline <= route_.clock.mono()) {
            const auto done = std::move(waiting_.front().done);
            waiting_.pop_front();
            done(core::fail(away_error()));  // it may destroy this publisher
            if (term.over()) return;
        }
    }

    Route& route_;
    core::Lifetime lifetime_;
    const core::Lifetime::Remote remote_;
    const std::unique_ptr<log::Publisher> inner_;
    std::deque<Waiting> waiting_;
};

class HostLog::HostReader final : public log::PartitionReader {
public:
    HostReader(Route& route, core::Executor& executor, std::function<void()> ready)
        : route_(route),
          lifetime_(executor),
          remote_(lifetime_.remote()),
          ready_(std::move(ready)) {
        route_.readers.push_back(this);
    }
    ~HostReader() override {
        lifetime_.end();
        std::erase(route_.readers, this);
    }
    HostReader(const HostReader&) = delete;
    HostReader& operator=(const HostReader&) = delete;

    void reads(std::unique_ptr<log::PartitionReader> inner) { inner_ = std::move(inner); }
    core::Result<log::Taken> take(std::size_t max, const log::RecordSink& sink) override {
        if (route_.away) return core::fail(away_error());
        return inner_->take(max, sink);
    }
    core::Offset position() const override { return inner_->position(); }
    void pause() override { inner_->pause(); }
    void resume() override { inner_->resume(); }

    void announce() {
        if (route_.away) return;
        const auto ready = ready_;  // it may destroy this reader
        ready();
    }
    /// Something may have come meanwhile.
    void back() {
        remote_.post([this] { announce(); });
    }

private:
    Route& route_;
    core::Lifetime lifetime_;
    const core::Lifetime::Remote remote_;
    const std::function<void()> ready_;
    std::unique_ptr<log::PartitionReader> inner_;
};

class HostLog::HostMember final : public log::Member {
public:
    HostMember(Route& route, core::Executor& executor,
               std::function<void(const log::Members&)> changed)
        : route_(route),
          lifetime_(executor),
          remote_(lifetime_.remote()),
          changed_(std::move(changed)) {
        route_.members.push_back(this);
    }
    ~HostMember() override {
        lifetime_.end();
        std::erase(route_.members, this);
    }
    HostMember(const HostMember&) = delete;
    HostMember& operator=(const HostMember&) = delete;

    void is(std::unique_ptr<log::Member> inner) { inner_ = std::move(inner); }
    void still_alive() override {
        if (!route_.away) inner_->still_alive();
    }

    void receive(const log::Members& now) {
        unreceived_ = now;
        report();
    }
    void back() {
        remote_.post([this] { report(); });
    }

private:
    void report() {
        if (route_.away || !unreceived_) return;
        const auto now = *std::exchange(unreceived_, std::nullopt);
        const auto changed = changed_;  // it may destroy this member
        changed(now);
    }

    Route& route_;
    core::Lifetime lifetime_;
    const core::Lifetime::Remote remote_;
    const std::function<void(const log::Members&)> changed_;
    std::optional<log::Members> unreceived_;
    std::unique_ptr<log::Member> inner_;
};

HostLog::HostLog(log::EventLog& log, const core::Clock& clock)
    : log_(log), route_(std::unique_ptr<Route>(new Route{.clock = clock})) {}
HostLog::~HostLog() = default;

void HostLog::set_away(bool away) {
    if (std::exchange(route_->away, away) == away || away) return;
    for (auto* publisher : route_->publishers) publisher->back();
    for (auto* reader : route_->readers) reader->back();
    for (auto* member : route_->members) member->back();
}

std::unique_ptr<log::Publisher> HostLog::open_publisher(core::Executor& executor) {
    return std::make_unique<HostPublisher>(*route_, executor, log_.open_publisher(executor));
}

std::unique_ptr<log::PartitionReader> HostLog::open_reader(log::TopicPartition where,
                                                           core::Offset from,
                                                           core::Executor& executor,
                                                           std::function<void()> ready) {
    auto reader = std::make_unique<HostReader>(*route_, executor, std::move(ready));
    reader->reads(
        log_.open_reader(where, from, executor, [one = reader.get()] { one->announce(); }));
    return reader;
}

std::unique_ptr<log::Member> HostLog::join(log::MemberOptions options, core::Executor& executor,
                                           std::function<void(const log::Members&)> changed) {
    auto member = std::make_unique<HostMember>(*route_, executor, std::move(changed));
    member->is(log_.join(std::move(options), executor,
                         [one = member.get()](const auto& now) { one->receive(now); }));
    return member;
}

void HostLog::ends(log::TopicPartition where, core::Executor& executor,
                   std::function<void(core::Result<log::Ends>)> done) {
    if (!route_->away) return log_.ends(where, executor, std::move(done));
    executor.post([done = std::move(done)] { done(core::fail(away_error())); });
}

void HostLog::commit(std::string group, std::vector<log::GroupOffset> offsets,
                     core::Executor& executor, std::function<void(core::Result<void>)> done) {
    if (!route_->away)
        return log_.commit(std::move(group), std::move(offsets), executor, std::move(done));
    executor.post([done = std::move(done)] { done(core::fail(away_error())); });
}

void HostLog::committed(std::string group, std::vector<log::TopicPartition> partitions,
                        core::Executor& executor,
                        std::function<void(core::Result<std::vector<log::GroupOffset>>)> done) {
    if (!route_->away)
        return log_.committed(std::move(group), std::move(partitions), executor, std::move(done));
    executor.post([done = std::move(done)] { done(core::fail(away_error())); });
}

}  // namespace beckon::sim
