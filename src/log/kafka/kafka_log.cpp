#include "log/kafka/kafka_log.hpp"

#include "log/kafka/group_offsets.hpp"
#include "log/kafka/kafka_events.hpp"
#include "log/kafka/member.hpp"
#include "log/kafka/metadata.hpp"
#include "log/kafka/producer.hpp"
#include "log/kafka/reader.hpp"
#include "log/kafka/reader_clients.hpp"
#include "log/kafka/report.hpp"
#include "log/kafka/worker.hpp"

#include <mutex>
#include <utility>
#include <vector>

namespace beckon::log {

namespace {

using core::Fault;

/// The membership that callers see, which ends in the background.
class KafkaMember final : public Member {
public:
    explicit KafkaMember(std::shared_ptr<kafka::Membership> membership)
        : membership_(std::move(membership)) {}
    ~KafkaMember() override { membership_->leave(); }
    void still_alive() override { membership_->still_alive(); }

private:
    const std::shared_ptr<kafka::Membership> membership_;
};

class KafkaLog final : public EventLog {
public:
    explicit KafkaLog(const KafkaConfig& config)
        : config_(config),
          events_(std::make_shared<kafka::KafkaEvents>(config.bootstrap_servers)),
          queries_(config_, *events_),
          groups_(config_, events_),
          clients_(config_, *events_, queries_),
          producer_(config_, *events_, queries_) {}
    /// Its jobs use members that are destroyed before it.
    ~KafkaLog() override {
        groups_.begin_stop();
        queries_.begin_stop();
        groups_.stop();
        queries_.stop();
    }

    bool has_refused_group(const std::string& group) const {
        return events_->has_refused(kafka::refusal("Read", "the group " + group).message);
    }

    std::unique_ptr<Publisher> open_publisher(core::Executor& executor) override {
        return producer_.open_publisher(executor);
    }

    std::unique_ptr<PartitionReader> open_reader(TopicPartition where, core::Offset from,
                                                 core::Executor& executor,
                                                 std::function<void()> ready) override {
        return std::make_unique<kafka::KafkaReader>(
            clients_, where, config_.prefix + where.topic.name(), from, executor, std::move(ready));
    }

    void ends(TopicPartition where, core::Executor& executor,
              std::function<void(core::Result<Ends>)> done) override {
        ask(queries_, executor, std::move(done),
            [this, where] { return query<Ends>(where, kafka::query_ends); });
    }

    void is_made_anew(TopicPartition where, ReadUpTo read, core::Executor& executor,
                      std::function<void(core::Result<bool>)> done) override {
        ask(queries_, executor, std::move(done), [this, where, read]() -> core::Result<bool> {
            const auto younger = query<core::Offset>(where, [&](const kafka::EndsQuery& asked) {
                return kafka::query_first_after(asked, read.youngest);
            });
            if (!younger) return core::fail(younger.error());
            return *younger >= 0 && *younger < read.next;
        });
    }

    std::optional<core::Duration> clock_ahead() const override {
        return events_->clock_difference().ahead();
    }

    void commit(std::string group, std::vector<GroupOffset> offsets, core::Executor& executor,
                std::function<void(core::Result<void>)> done) override {
        ask(groups_, executor, std::move(done),
            [this, group = std::move(group), offsets = std::move(offsets)] {
                return groups_.commit(group, offsets);
            });
    }

    void committed(std::string group, std::vector<TopicPartition> partitions,
                   core::Executor& executor,
                   std::function<void(core::Result<std::vector<GroupOffset>>)> done) override {
        ask(groups_, executor, std::move(done),
            [this, group = std::move(group), partitions = std::move(partitions)] {
                return groups_.committed(group, partitions);
            });
    }

    std::unique_ptr<Member> join(MemberOptions options, core::Executor& executor,
                                 std::function<void(const Members&)> changed) override {
        const std::scoped_lock lock{members_mutex_};
        std::erase_if(members_, [](const auto& member) { return member->has_left(); });
        auto membership = std::make_shared<kafka::Membership>(config_, *events_, std::move(options),
                                                              executor, std::move(changed));
        members_.push_back(membership);
        return std::make_unique<KafkaMember>(std::move(membership));
    }

private:
    /// On the thread of queries.
    template <class Answer, class Query>
    core::Result<Answer> query(TopicPartition where, Query ask_with) {
        const auto client = queries_.client();
        if (!client) return core::fail(client.error());
        const auto topic = config_.prefix + where.topic.name();
        const auto stop = queries_.stopping();
        const auto answer = ask_with(kafka::EndsQuery{.client = *client,
                                                      .events = *events_,
                                                      .topic = topic,
                                                      .partition = where.partition,
                                                      .stop = stop});
        if (answer) events_->broker_answers();
        return answer;
    }

    /// Runs `query` on the thread of `where` and posts its answer.
    template <class Where, class Done, class Query>
    void ask(Where& where, core::Executor& executor, Done done, Query query) {
        using Answer = decltype(query());
        const auto shared = std::make_shared<Done>(std::move(done));
        const bool asked = where.post([&executor, shared, query = std::move(query)] {
            executor.post([shared, answer = query()] { (*shared)(answer); });
        });
        if (asked) return;
        executor.post([shared] {
            (*shared)(Answer{core::fail(Fault::full, "too many queries wait for the log")});
        });
    }

    const KafkaConfig config_;
    const std::shared_ptr<kafka::KafkaEvents> events_;
    kafka::QueryThread queries_;
    kafka::GroupOffsets groups_;
    kafka::ReaderClients clients_;
    kafka::Producer producer_;
    std::mutex members_mutex_;
    /// Memberships that have not left their group yet; under members_mutex_.
    std::vector<std::shared_ptr<kafka::Membership>> members_;
};

}  // namespace

std::unique_ptr<EventLog> open_kafka_log(const KafkaConfig& config) {
    return std::make_unique<KafkaLog>(config);
}

bool has_refused_group(const EventLog& log, const std::string& group) {
    const auto* const kafka = dynamic_cast<const KafkaLog*>(&log);
    return kafka && kafka->has_refused_group(group);
}

}  // namespace beckon::log
