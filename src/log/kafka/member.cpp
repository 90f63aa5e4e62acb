#include "log/kafka/member.hpp"

#include "core/logger.hpp"
#include "log/topic.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

#include <pthread.h>

namespace beckon::log::kafka {

using std::chrono::duration_cast;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

constexpr int kTurnMs = 20;
/// A group that is being rebalanced is asked again.
constexpr milliseconds kAskAgain{100};
constexpr int kAnswerMs = 3000;
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

/// The way from librdkafka's callback to us; its opaque belongs to the log lines.
thread_local Membership* this_thread_member = nullptr;

std::string in_ms(core::Duration duration) {
    return std::to_string(duration_cast<milliseconds>(duration).count());
}

/// The nodes of a group that is at rest; nullopt while it is not, or if the answer is an error.
std::optional<std::vector<core::NodeId>> members_in(rd_kafka_event_t* event) {
    const auto* result = rd_kafka_event_DescribeConsumerGroups_result(event);
    if (!result || rd_kafka_event_error(event)) return std::nullopt;
    std::size_t count = 0;
    const auto** groups = rd_kafka_DescribeConsumerGroups_result_groups(result, &count);
    if (count != 1 || rd_kafka_ConsumerGroupDescription_error(groups[0])) return std::nullopt;
    if (rd_kafka_ConsumerGroupDescription_state(groups[0]) !=
        RD_KAFKA_CONSUMER_GROUP_STATE_STABLE) {
        return std::nullopt;
    }
    std::vector<core::NodeId> nodes;
    for (std::size_t i = 0; i < rd_kafka_ConsumerGroupDescription_member_count(groups[0]); ++i) {
        const auto* member = rd_kafka_ConsumerGroupDescription_member(groups[0], i);
        auto node = node_of(rd_kafka_MemberDescription_client_id(member));
        if (node) nodes.push_back(std::move(*node));
    }
    std::sort(nodes.begin(), nodes.end());
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    return nodes;
}

}  // namespace

Membership::Membership(const KafkaConfig& config, KafkaEvents& events, MemberOptions options,
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

Membership::~Membership() {
    stop_ = true;
    thread_.join();
}

void Membership::leave() {
    lifetime_.end();
    stop_ = true;
}

void Membership::run() {
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

bool Membership::is_fresh() const {
    return steady_clock::now() - last_alive_.load() < options_.session_timeout;
}

void Membership::join_group() {
    auto config = config_;
    config.client_id = member_name(options_.self);
    const auto session = in_ms(options_.session_timeout);
    const auto heartbeat = in_ms(std::clamp<core::Duration>(options_.session_timeout / 10,
                                                            milliseconds{50}, milliseconds{1000}));
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
            conf.get(),
            [](rd_kafka_t*, rd_kafka_resp_err_t error, rd_kafka_topic_partition_list_t* partitions,
               void*) { this_thread_member->on_rebalance(error, partitions); });
        client_ = make_client(RD_KAFKA_CONSUMER, std::move(conf));
    } catch (const std::runtime_error& error) {
        core::log_error("log", "cannot_join", {{"group", group_}, {"why", error.what()}});
        std::this_thread::sleep_for(kAskAgain);
        return;
    }
    answers_.reset(rd_kafka_queue_new(client_.get()));
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

/// A group that is put together again because somebody came or went is there in a moment.
bool Membership::await_assignment() {
    const auto until = steady_clock::now() + kAssignmentMax;
    while (!assigned_ && steady_clock::now() < until) {
        const MessageHandle served{rd_kafka_consumer_poll(client_.get(), kTurnMs)};
    }
    return assigned_;
}

/// Outside a group there is no goodbye: after a broker's restart the coordinator answers a join
/// only when all have come or their time is over, a leave would wait behind it for 5 s, and closing
/// for that. The coordinator then misses us as if we had died.
void Membership::leave_group(bool in_group) {
    if (in_group) rd_kafka_consumer_close(client_.get());
    answers_.reset();
    client_.reset();
    assigned_ = holds_ = asking_ = false;
    ask_at_.reset();
    revoked_.reset();
}

void Membership::turn() {
    const MessageHandle message{rd_kafka_consumer_poll(client_.get(), kTurnMs)};
    constexpr int kSyslogWarning = 4;
    if (message && message->err != RD_KAFKA_RESP_ERR_NO_ERROR) {
        events_.line(kSyslogWarning, "MEMBER", rd_kafka_message_errstr(message.get()));
    }
    const auto now = steady_clock::now();
    if (revoked_ && now - *revoked_ > options_.session_timeout) lose_group();
    if (asking_) {
        take_answer();
    } else if (assigned_ && ask_at_ && now >= *ask_at_) {
        ask_who_is_alive();
    }
}

void Membership::on_rebalance(rd_kafka_resp_err_t error,
                              rd_kafka_topic_partition_list_t* partitions) {
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
    // Otherwise a new assignment follows at once, and most keep what they had.
    if (lost) lose_group();
}

void Membership::ask_who_is_alive() {
    const AdminOptionsHandle options{
        rd_kafka_AdminOptions_new(client_.get(), RD_KAFKA_ADMIN_OP_DESCRIBECONSUMERGROUPS)};
    rd_kafka_AdminOptions_set_request_timeout(options.get(), kAnswerMs, nullptr, 0);
    const char* group = group_.c_str();
    rd_kafka_DescribeConsumerGroups(client_.get(), &group, 1, options.get(), answers_.get());
    asking_ = true;
    ask_at_.reset();
}

void Membership::take_answer() {
    const EventHandle event{rd_kafka_queue_poll(answers_.get(), 0)};
    if (!event) return;
    asking_ = false;
    if (!assigned_) return;  // the next assignment asks again
    if (ask_at_) return;     // there was one meanwhile: what we hear is old
    const auto members = members_in(event.get());
    const bool complete =
        members && std::find(members->begin(), members->end(), options_.self) != members->end();
    if (!complete) {
        ask_at_ = steady_clock::now() + kAskAgain;
        return;
    }
    announce({*members, holds_});
}

void Membership::lose_group() {
    revoked_.reset();
    assigned_ = holds_ = false;
    auto now = last_.value_or(Members{});
    std::erase(now.alive, options_.self);
    now.first = false;
    announce(std::move(now));
}

void Membership::announce(Members now) {
    if (last_ == now) return;
    last_ = now;
    remote_.post([changed = changed_, now = std::move(now)] { changed(now); });
}

}  // namespace beckon::log::kafka
