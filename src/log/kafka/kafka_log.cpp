#include "log/kafka/kafka_log.hpp"

#include "core/lifetime.hpp"
#include "core/logger.hpp"
#include "log/event_log.hpp"
#include "log/kafka/client_conf.hpp"
#include "log/kafka/group_offsets.hpp"
#include "log/kafka/kafka_events.hpp"
#include "log/kafka/metadata.hpp"
#include "log/kafka/producer.hpp"
#include "log/kafka/reader_clients.hpp"
#include "log/kafka/report.hpp"
#include "log/kafka/worker.hpp"
#include "log/topic.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <pthread.h>

namespace beckon::log::kafka {

using core::Fault;
using std::chrono::duration_cast;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

constexpr int kTurnMs = 20;
/// A group that is being rebalanced is asked again.
constexpr milliseconds kMemberRetryAfter{100};
constexpr milliseconds kMemberAnswerMax{1000};
constexpr milliseconds kAssignmentMax{1000};

/// "<12 hex digits of the time of joining>-<node>": sorts by time.
std::string member_name(const core::NodeId& node) {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    std::array<char, 16> text{};
    std::snprintf(text.data(), text.size(), "%012llx",
                  static_cast<unsigned long long>(duration_cast<milliseconds>(now).count()));
    return std::string{text.data()} + "-" + node.text;
}

std::optional<core::NodeId> node_of(std::string_view member_name) {
    const auto dash = member_name.find('-');
    if (dash == std::string_view::npos) return std::nullopt;
    return core::NodeId{std::string{member_name.substr(dash + 1)}};
}

class Membership;
/// The way from librdkafka's callback to us; its opaque belongs to the log lines.
thread_local Membership* this_thread_member = nullptr;

std::string in_ms(core::Duration duration) {
    return std::to_string(duration_cast<milliseconds>(duration).count());
}

/// The nodes of a group that is at rest; nullopt while it is not. Every broker is asked for it, and
/// those that do not coordinate it answer with an error.
std::optional<std::vector<core::NodeId>> members_in(const rd_kafka_group_list& list) {
    for (int i = 0; i < list.group_cnt; ++i) {
        const auto& group = list.groups[i];
        if (group.err != RD_KAFKA_RESP_ERR_NO_ERROR || std::string_view{group.state} != "Stable") {
            continue;
        }
        std::vector<core::NodeId> nodes;
        for (int m = 0; m < group.member_cnt; ++m) {
            auto node = node_of(group.members[m].client_id);
            if (node) nodes.push_back(std::move(*node));
        }
        std::sort(nodes.begin(), nodes.end());
        nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
        return nodes;
    }
    return std::nullopt;
}

/// One process in a group, with a client and a thread (`log-member`) of its own. It subscribes to
/// `ownership` with the range assignor, which assigns the topic's one partition to the member whose
/// id sorts first. The id begins with the time of joining, so the longest-standing member is the
/// first and stays the first. The partition is never fetched. After each rebalance the member asks
/// the brokers for the members that are alive.
///
/// Two watchdogs: without still_alive() for a session time-out the member leaves by itself; if its
/// own thread hangs, librdkafka leaves (max.poll.interval.ms); if the process hangs or dies, the
/// broker expels it.
class Membership {
public:
    Membership(const KafkaConfig& config, KafkaEvents& events, MemberOptions options,
               core::Executor& executor, std::function<void(const Members&)> changed)
        : config_(config),
          events_(events),
          options_(std::move(options)),
          group_(config_.prefix + options_.group),
          lifetime_(executor),
          remote_(lifetime_.remote()),
          changed_(std::move(changed)),
          last_alive_(steady_clock::now()),
          thread_([this] { run(); }) {}
    ~Membership() {
        stop_ = true;
        thread_.join();
    }
    Membership(const Membership&) = delete;
    Membership& operator=(const Membership&) = delete;

    void still_alive() { last_alive_ = std::chrono::steady_clock::now(); }
    /// Leaves in the background and notifies its owner of nothing more. On the executor's thread.
    void leave() {
        lifetime_.end();
        stop_ = true;
    }
    bool has_left() const { return left_; }

private:
    using Time = std::chrono::steady_clock::time_point;

    void run() {
        pthread_setname_np(pthread_self(), "log-member");
        this_thread_member = this;
        while (!stop_) {
            if (!is_fresh()) {
                if (client_) {
                    core::log_warn("log", "member_stands_still", {{"group", group_}});
                    const bool in_group = assigned_;
                    lose_group();
                    leave_group(in_group);
                }
                std::this_thread::sleep_for(milliseconds{kTurnMs});
                continue;
            }
            if (!client_) join_group();
            if (client_) turn();
        }
        if (client_) leave_group(assigned_ || await_assignment());
        left_ = true;
    }
    bool is_fresh() const {
        return steady_clock::now() - last_alive_.load() < options_.session_timeout;
    }
    void join_group() {
        auto config = config_;
        config.client_id = member_name(options_.self);
        const auto session = in_ms(options_.session_timeout);
        const auto heartbeat = in_ms(std::clamp<core::Duration>(
            options_.session_timeout / 10, milliseconds{50}, milliseconds{1000}));
        try {
            auto conf = make_conf(config, events_,
                                  {.required = {{"group.id", group_},
                                                {"partition.assignment.strategy", "range"},
                                                {"session.timeout.ms", session},
                                                {"max.poll.interval.ms", session},
                                                {"heartbeat.interval.ms", heartbeat},
                                                {"enable.auto.commit", "false"},
                                                {"enable.auto.offset.store", "false"},
                                                {"auto.offset.reset", "latest"}}});
            rd_kafka_conf_set_rebalance_cb(
                conf.get(), [](rd_kafka_t*, rd_kafka_resp_err_t error,
                               rd_kafka_topic_partition_list_t* partitions,
                               void*) { this_thread_member->on_rebalance(error, partitions); });
            client_ = make_client(RD_KAFKA_CONSUMER, std::move(conf));
        } catch (const std::runtime_error& error) {
            core::log_error("log", "cannot_join", {{"group", group_}, {"why", error.what()}});
            std::this_thread::sleep_for(kMemberRetryAfter);
            return;
        }
        rd_kafka_poll_set_consumer(client_.get());
        const PartitionList topics{rd_kafka_topic_partition_list_new(1)};
        const auto topic = config_.prefix + Topic::kOwnership.name();
        rd_kafka_topic_partition_list_add(topics.get(), topic.c_str(), RD_KAFKA_PARTITION_UA);
        const auto error = rd_kafka_subscribe(client_.get(), topics.get());
        if (error != RD_KAFKA_RESP_ERR_NO_ERROR) {
            core::log_error("log", "cannot_join",
                            {{"group", group_}, {"why", rd_kafka_err2str(error)}});
        }
    }
    /// A group that rebalances because a member came or went is complete in a moment.
    bool await_assignment() {
        const auto until = steady_clock::now() + kAssignmentMax;
        while (!assigned_ && steady_clock::now() < until) {
            const MessageHandle served{rd_kafka_consumer_poll(client_.get(), kTurnMs)};
        }
        return assigned_;
    }
    /// Outside a group there is no goodbye: after a broker's restart the coordinator answers a join
    /// only when all have come or their time is over, a leave would wait behind it for 5 s, and
    /// closing for that. The coordinator then misses us as if we had died.
    void leave_group(bool in_group) {
        if (in_group) rd_kafka_consumer_close(client_.get());
        client_.reset();
        assigned_ = holds_ = false;
        ask_at_.reset();
        revoked_.reset();
    }
    void turn() {
        const MessageHandle message{rd_kafka_consumer_poll(client_.get(), kTurnMs)};
        constexpr int kSyslogWarning = 4;
        if (message && message->err == RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED) {
            events_.refused(refusal("Read", "the group " + group_).message);
        } else if (message && message->err == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED) {
            const auto topic = config_.prefix + Topic::kOwnership.name();
            events_.refused(refusal("Read", "the topic " + topic).message);
        } else if (message && message->err != RD_KAFKA_RESP_ERR_NO_ERROR) {
            events_.line(kSyslogWarning, "MEMBER", rd_kafka_message_errstr(message.get()));
        }
        const auto now = steady_clock::now();
        if (revoked_ && now - *revoked_ > options_.session_timeout) lose_group();
        if (assigned_ && ask_at_ && now >= *ask_at_) ask_who_is_alive();
    }
    void on_rebalance(rd_kafka_resp_err_t error, rd_kafka_topic_partition_list_t* partitions) {
        const auto now = steady_clock::now();
        if (error == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS) {
            holds_ = partitions->cnt > 0;
            assigned_ = true;
            revoked_.reset();
            ask_at_ = now;
            // Nothing is to be fetched: an assignment without partitions answers this one.
            const PartitionList none{rd_kafka_topic_partition_list_new(0)};
            rd_kafka_assign(client_.get(), none.get());
            return;
        }
        const bool lost = rd_kafka_assignment_lost(client_.get()) != 0;
        rd_kafka_assign(client_.get(), nullptr);
        assigned_ = false;
        if (!revoked_) revoked_ = now;
        // Otherwise a new assignment follows at once, and most members keep theirs.
        if (lost) lose_group();
    }
    /// Not through the Admin API, whose requests to a coordinator that goes away end the process
    /// (group_offsets.hpp). Waits on the member's thread: librdkafka's own sends the heartbeats.
    void ask_who_is_alive() {
        using GroupList = Handle<const rd_kafka_group_list, rd_kafka_group_list_destroy>;
        const auto wait = std::min<core::Duration>(kMemberAnswerMax, options_.session_timeout / 4);
        const rd_kafka_group_list* answer = nullptr;
        // An error too may come with an answer: that of those brokers that are there.
        rd_kafka_list_groups(client_.get(), group_.c_str(), &answer,
                             static_cast<int>(duration_cast<milliseconds>(wait).count()));
        const GroupList owner{answer};
        const auto members = answer ? members_in(*answer) : std::nullopt;
        const bool complete =
            members && std::find(members->begin(), members->end(), options_.self) != members->end();
        if (!complete) {
            ask_at_ = steady_clock::now() + kMemberRetryAfter;
            return;
        }
        ask_at_.reset();
        announce({*members, holds_});
    }
    void lose_group() {
        revoked_.reset();
        assigned_ = holds_ = false;
        auto now = last_.value_or(Members{});
        std::erase(now.alive, options_.self);
        now.first = false;
        announce(std::move(now));
    }
    void announce(Members now) {
        if (last_ == now) return;
        last_ = now;
        remote_.post([changed = changed_, now = std::move(now)] { changed(now); });
    }

    const KafkaConfig config_;
    KafkaEvents& events_;
    const MemberOptions options_;
    const std::string group_;  ///< with prefix
    core::Lifetime lifetime_;  ///< ends with leave(); the executor's thread only
    const core::Lifetime::Remote remote_;
    const std::function<void(const Members&)> changed_;

    std::atomic<Time> last_alive_;
    std::atomic<bool> stop_ = false;
    std::atomic<bool> left_ = false;

    // --- the member's thread only
    ClientHandle client_;
    bool assigned_ = false;        ///< between an assignment and its end
    bool holds_ = false;           ///< the partition
    std::optional<Time> ask_at_;   ///< when to ask next
    std::optional<Time> revoked_;  ///< since when we wait for a new assignment
    std::optional<Members> last_;  ///< the last announced members

    std::thread thread_;  ///< last: it uses the others
};

constexpr std::size_t kBatch = 256;

std::string_view text_of(const void* data, std::size_t size) {
    return {static_cast<const char*>(data), size};
}

/// The reader has no records and is not at the end: more are on their way, and `ready` is called
/// when they come.
core::Result<Taken> not_yet() { return core::fail(Fault::unavailable, "on its way"); }

void read_headers(const rd_kafka_message_t& message, std::vector<core::HeaderView>& out) {
    out.clear();
    rd_kafka_headers_t* headers = nullptr;
    if (rd_kafka_message_headers(&message, &headers) != RD_KAFKA_RESP_ERR_NO_ERROR) return;
    const char* name = nullptr;
    const void* value = nullptr;
    std::size_t size = 0;
    for (std::size_t i = 0;
         rd_kafka_header_get_all(headers, i, &name, &value, &size) == RD_KAFKA_RESP_ERR_NO_ERROR;
         ++i) {
        out.push_back({name, text_of(value, size)});
    }
}

/// A partition read through its own queue. pause() gives the partition back and resume() takes it
/// again at the position, instead of librdkafka's own pause: that one is slow to resume (up to a
/// second) and together with batches skips offsets (docs/facts/librdkafka.md#readers).
class KafkaReader final : public PartitionReader {
public:
    /// `topic`: its name with the prefix.
    KafkaReader(ReaderClients& clients, TopicPartition where, std::string topic, core::Offset from,
                core::Executor& executor, std::function<void()> ready)
        : clients_(clients),
          lifetime_(executor),
          reading_(std::make_shared<Reading>(where, std::move(topic), lifetime_.remote(),
                                             std::move(ready))),
          position_(std::max<core::Offset>(from, 0)) {
        start_at(position_);
    }
    ~KafkaReader() override {
        lifetime_.end();
        clients_.stop(reading_);
    }

    core::Result<Taken> take(std::size_t max, const RecordSink& sink) override {
        if (reading_->above_end) {
            return core::fail(Fault::out_of_range, "the position " + std::to_string(position_) +
                                                       " of " + reading_->topic + "/" +
                                                       std::to_string(reading_->where.partition) +
                                                       " lies above the log's end");
        }
        Taken taken;
        if (paused_) return taken;
        if (reading_->assignment != asked_) return not_yet();
        std::array<rd_kafka_message_t*, kBatch> batch;
        bool empty = false;
        Reading::taking = reading_.get();
        while (!empty && taken.records < max) {
            // Never more than is there: for the rest librdkafka waits, if only for no time.
            const auto there = rd_kafka_queue_length(reading_->queue.get());
            const auto wanted = std::min({kBatch, max - taken.records, there});
            if (wanted == 0) {
                empty = true;
                break;
            }
            const auto got =
                rd_kafka_consume_batch_queue(reading_->queue.get(), 0, batch.data(), wanted);
            const auto count = got < 0 ? 0 : static_cast<std::size_t>(got);
            std::size_t i = 0;
            try {
                while (i < count) {
                    const MessageHandle message{batch[i++]};
                    if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
                        deliver(*message, sink, taken);
                    } else {
                        note_error(*message);
                    }
                }
            } catch (...) {  // the sink threw: the rest of the batch is fetched again
                Reading::taking = nullptr;
                while (i < count) rd_kafka_message_destroy(batch[i++]);
                if (!paused_) start_at(position_);
                throw;
            }
            empty = count < wanted;
        }
        Reading::taking = nullptr;
        if (taken.records > 0) clients_.events().broker_answers();
        if (taken.records == 0 && std::exchange(reading_->unknown, false)) {
            return core::fail(Fault::not_found, "there is no partition " +
                                                    std::to_string(reading_->where.partition) +
                                                    " of " + reading_->topic);
        }
        if (taken.records == 0 && std::exchange(reading_->refused, false)) {
            auto why = refusal("Read", "the topic " + reading_->topic);
            clients_.events().refused(why.message);
            return core::fail(std::move(why));
        }
        taken.drained = empty && at_end();
        if (taken.records > 0 || taken.drained) return taken;
        return not_yet();
    }
    core::Offset position() const override { return position_; }
    void pause() override {
        if (paused_) return;
        paused_ = true;
        ++asked_;  // fetched records are out of date then
        clients_.stop(reading_);
    }
    void resume() override {
        if (!paused_) return;
        paused_ = false;
        start_at(position_);
    }

private:
    void start_at(core::Offset from) {
        received_ = false;
        eof_ = -1;
        clients_.start(reading_, from, ++asked_);
    }
    void deliver(const rd_kafka_message_t& message, const RecordSink& sink, Taken& taken) {
        if (message.offset < position_) return;  // a restart at an older offset; never go back
        read_headers(message, headers_);
        core::RecordView view;
        view.offset = message.offset;
        view.time = core::Timestamp{
            std::chrono::milliseconds{rd_kafka_message_timestamp(&message, nullptr)}};
        view.key = text_of(message.key, message.key_len);
        if (message.payload) {
            view.value = text_of(message.payload, message.len);
        }
        view.headers = headers_;
        received_ = true;
        position_ = message.offset + 1;
        ++taken.records;
        count_taken(view);
        sink(view);
    }
    void note_error(const rd_kafka_message_t& message) {
        switch (message.err) {
            case RD_KAFKA_RESP_ERR__PARTITION_EOF:
                // Above the position where compaction took the last records.
                position_ = std::max(position_, message.offset);
                eof_ = position_;
                received_ = true;
                return;
            case RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET:
            case RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE:
                received_ = false;
                clients_.resolve(reading_, position_, ++asked_);
                return;
            case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART: reading_->unknown = true; return;
            case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED: reading_->refused = true; return;
            default:
                clients_.events().line(4, "READ", rd_kafka_message_errstr(&message));
                return;  // librdkafka goes on by itself
        }
    }
    /// Half of the queue is taken: if it was full, the other half is taken while the next fetch is
    /// under way.
    void count_taken(const core::RecordView& record) {
        taken_bytes_ += record.key.size() + (record.value ? record.value->size() : 0);
        ++taken_records_;
        if (taken_bytes_ < reading_->client->prefetch.bytes_each / 2 &&
            taken_records_ < kPrefetchedMax / 2) {
            return;
        }
        taken_bytes_ = 0;
        taken_records_ = 0;
        clients_.refill(reading_);
    }
    bool at_end() {
        if (!received_) return false;
        if (eof_ == position_) return true;
        // The end that came with the last fetch; the event itself may be half a second behind.
        std::int64_t low = 0;
        std::int64_t high = 0;
        return rd_kafka_get_watermark_offsets(reading_->client->handle.get(),
                                              reading_->topic.c_str(), reading_->where.partition,
                                              &low, &high) == RD_KAFKA_RESP_ERR_NO_ERROR &&
               high >= 0 && position_ >= high;
    }

    ReaderClients& clients_;
    core::Lifetime lifetime_;
    const std::shared_ptr<Reading> reading_;
    core::Offset position_;
    std::uint64_t asked_ = 0;  ///< number of the last start that was asked for
    bool paused_ = false;
    core::Offset eof_ = -1;  ///< the position at which the broker had no more
    /// Since space in the queue was last reported.
    std::size_t taken_bytes_ = 0;
    std::size_t taken_records_ = 0;
    bool received_ = false;  ///< something came since the last start: its idea of the end is new
    std::vector<core::HeaderView> headers_;
};

}  // namespace

}  // namespace beckon::log::kafka

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
