#include "log/kafka/member.hpp"

#include "core/logger.hpp"
#include "log/kafka/report.hpp"
#include "log/topic.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <stdexcept>

#include <pthread.h>

namespace beckon::log::kafka {

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
    client_.reset();
    assigned_ = holds_ = false;
    ask_at_.reset();
    revoked_.reset();
}

void Membership::turn() {
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
    // Otherwise a new assignment follows at once, and most members keep theirs.
    if (lost) lose_group();
}

/// Not through the Admin API, whose requests to a coordinator that goes away end the process
/// (group_offsets.hpp). Waits on the member's thread: librdkafka's own sends the heartbeats.
void Membership::ask_who_is_alive() {
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
