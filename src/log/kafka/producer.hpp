#pragma once

#include "core/lifetime.hpp"
#include "log/event_log.hpp"
#include "log/kafka/client_conf.hpp"
#include "log/kafka/questions.hpp"

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <stop_token>
#include <thread>
#include <vector>

namespace beckon::log::kafka {

/// Where the answers of one publisher go.
class AnswerRoute : public std::enable_shared_from_this<AnswerRoute> {
public:
    explicit AnswerRoute(core::Executor& executor)
        : lifetime(executor), publisher(lifetime.remote()) {}

    core::Lifetime lifetime;  ///< the publisher's; executor's thread only, as the next
    std::size_t unanswered = 0;
    const core::Lifetime::Remote publisher;

    /// Answers a record that librdkafka had. Any thread; what comes before the executor turns to
    /// it is one task there.
    void answer(AppendDone done, core::Result<Appended> result);

private:
    struct Answer {
        AppendDone done;
        core::Result<Appended> result;
    };
    void hand_over();

    std::mutex mutex_;
    std::vector<Answer> answers_;  ///< under mutex_
};

/// A publish that librdkafka has: the opaque of its message. Freed by whoever answers.
struct Unconfirmed {
    std::shared_ptr<AnswerRoute> route;
    AppendDone done;
};

/// The process's one producer: idempotent, acks=all, one request in flight
/// (docs/facts/kafka.md#the-rule-that-matters-most: with more, acknowledged records were lost).
/// Reports reach a publisher's executor from the librdkafka thread that has them
/// (docs/decisions/0197-reports-come-from-librdkafkas-thread.md).
///
/// After a fatal error the thread `log-producer` makes a new client; what the old one had not
/// confirmed is answered `unavailable` and never sent again: repeated under its key it might rise
/// after its tombstone.
class Producer {
public:
    /// `retire` destroys clients that are no longer needed; it outlives this.
    Producer(const KafkaConfig& config, KafkaEvents& events, Questions& retire);
    /// Waits up to a second for what is on its way; no publisher is left to hear of it.
    ~Producer();
    Producer(const Producer&) = delete;
    Producer& operator=(const Producer&) = delete;

    std::unique_ptr<Publisher> open_publisher(core::Executor& executor);

    /// Hands the record to librdkafka. With an error the caller keeps `unconfirmed`; otherwise it
    /// belongs to the message. Any thread; does not block.
    core::Result<void> send(TopicPartition where, const core::Record& record,
                            Unconfirmed* unconfirmed);

    const KafkaConfig& config() const { return config_; }

private:
    /// A librdkafka client and what hangs on it.
    struct Client {
        ClientHandle handle;
        QueueHandle queue;  ///< its errors
        std::array<std::atomic<rd_kafka_topic_t*>, Topic::kCount> topics{};
        std::mutex making_topic;
        ~Client();
    };

    std::unique_ptr<Client> make_client();
    rd_kafka_topic_t* topic_of(Client& client, Topic topic);
    void run(const std::stop_token& stop);
    void serve(rd_kafka_queue_t* queue, int wait_ms);
    void replace_client();
    void serve_replaced();
    void finish();

    const KafkaConfig config_;
    KafkaEvents& events_;
    Questions& retire_;

    std::shared_mutex current_mutex_;  ///< shared: publishing; alone: changing current_
    std::unique_ptr<Client> current_;  ///< changed by log-producer only
    /// Clients that were replaced, until each has reported on all that it was given; log-producer
    /// only.
    std::vector<std::unique_ptr<Client>> replaced_;

    bool fatal_ = false;   ///< log-producer only
    std::jthread keeper_;  ///< last: it uses the others
};

}  // namespace beckon::log::kafka
