#pragma once

#include "core/lifetime.hpp"
#include "log/event_log.hpp"
#include "log/kafka/client_conf.hpp"
#include "log/kafka/worker.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <stop_token>
#include <thread>
#include <vector>

namespace beckon::log::kafka {

/// Where the answers of one publisher go. The publisher has a share of it until it ends `lifetime`.
class AnswerRoute {
public:
    explicit AnswerRoute(core::Executor& executor)
        : lifetime(executor), publisher(lifetime.remote()) {}

    core::Lifetime lifetime;  ///< the publisher's; executor's thread only, as the next
    std::size_t unanswered = 0;
    const core::Lifetime::Remote publisher;

    /// Answers a record that was accepted. Any thread; answers that come before the executor's turn
    /// share one task there.
    void answer(AppendDone done, core::Result<Appended> result);

private:
    struct Answer {
        AppendDone done;
        core::Result<Appended> result;
    };
    void deliver();

    std::mutex mutex_;
    std::vector<Answer> answers_;  ///< under mutex_
};

/// A publish that librdkafka has: the opaque of its message. The answering thread frees it.
struct Unconfirmed {
    std::shared_ptr<AnswerRoute> route;
    AppendDone done;
    std::size_t bytes = 0;  ///< of the record (size_of())
};

/// A record that was accepted, on its way to librdkafka.
struct Publishing {
    TopicPartition where;
    core::Record record;
    std::unique_ptr<Unconfirmed> unconfirmed;
};

/// The process's one producer: idempotent, acks=all, one request in flight
/// (docs/facts/kafka.md#the-rule-that-matters-most: with more, acknowledged records were lost).
/// So a record is sent at once where no request is under way; those that come meanwhile are the
/// next requests, one for each partition: they batch without a linger.
/// Reports reach a publisher's executor from the librdkafka thread that has them
/// (docs/decisions/0197-delivery-reports-on-librdkafkas-thread.md).
///
/// After a fatal error the thread `log-producer` makes a new client; records that the old one had
/// not confirmed are answered `unavailable` and never sent again: a put repeated under its key
/// could come after its tombstone and be pending again.
///
/// No batch of several records is larger than max.message.bytes of the topics as it is known. A
/// batch that the broker refuses for its size all the same, since the limit has been lowered,
/// is answered `unavailable`, and the next client makes batches of half the size: in the end the
/// record that is too large is alone in its batch, and alone is answered `too_large`.
class Producer {
public:
    /// `retire` destroys clients that are no longer needed; it outlives this.
    Producer(const KafkaConfig& config, KafkaEvents& events, QueryThread& retire);
    /// Waits up to a second for records on their way; no publisher is left to be notified.
    ~Producer();
    Producer(const Producer&) = delete;
    Producer& operator=(const Producer&) = delete;

    std::unique_ptr<Publisher> open_publisher(core::Executor& executor);

    /// Hands the record to librdkafka, or answers it with why that cannot be. Any thread; does not
    /// block.
    void send(Publishing one);

    const KafkaConfig& config() const { return config_; }

private:
    /// A librdkafka client and its dependents.
    struct Client {
        KafkaEvents& events;
        std::size_t batch_bytes = 0;              ///< of a batch of several records, at most
        std::atomic<bool> batch_refused = false;  ///< for its size
        ClientHandle handle;
        QueueHandle queue;  ///< its errors
        std::array<std::atomic<rd_kafka_topic_t*>, Topic::kCount> topics{};
        std::mutex making_topic;
        explicit Client(KafkaEvents& of_all) : events(of_all) {}
        ~Client();
    };
    static rd_kafka_resp_err_t on_report(rd_kafka_t* handle, rd_kafka_message_t* message,
                                         void* client) noexcept;
    static core::Result<Appended> outcome(const rd_kafka_message_t& message, const Unconfirmed& one,
                                          Client& client);

    std::unique_ptr<Client> make_client();
    rd_kafka_topic_t* topic_of(Client& client, Topic topic);
    /// With an error the caller keeps `unconfirmed`; otherwise it belongs to the message.
    core::Result<void> produce(TopicPartition where, const core::Record& record,
                               Unconfirmed* unconfirmed);
    void run(const std::stop_token& stop);
    void serve(rd_kafka_queue_t* queue, int wait_ms);
    bool failed() const { return fatal_ || current_->batch_refused; }
    void log_failure();
    void replace_client();
    void serve_replaced();
    void finish();

    const KafkaConfig config_;
    KafkaEvents& events_;
    QueryThread& retire_;

    std::size_t batch_bytes_max_;  ///< of the clients that are made; log-producer only

    std::shared_mutex current_mutex_;  ///< shared: publishing; alone: changing current_
    std::unique_ptr<Client> current_;  ///< changed by log-producer only
    /// Clients that were replaced, until each has reported on all that it was given; log-producer
    /// only.
    std::vector<std::unique_ptr<Client>> replaced_;

    std::atomic<bool> publishes_ = false;  ///< somebody has opened a publisher
    bool fatal_ = false;                   ///< log-producer only, as the next three
    std::chrono::steady_clock::time_point replaced_at_{};
    std::chrono::steady_clock::time_point replace_at_{};  ///< not before
    std::chrono::milliseconds pause_{0};
    std::jthread keeper_;  ///< last: it uses the others
};

}  // namespace beckon::log::kafka
