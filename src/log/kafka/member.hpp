#pragma once

#include "core/lifetime.hpp"
#include "log/event_log.hpp"
#include "log/kafka/client_conf.hpp"

#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <thread>

namespace beckon::log::kafka {

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
               core::Executor& executor, std::function<void(const Members&)> changed);
    ~Membership();
    Membership(const Membership&) = delete;
    Membership& operator=(const Membership&) = delete;

    void still_alive() { last_alive_ = std::chrono::steady_clock::now(); }
    /// Leaves in the background and notifies its owner of nothing more. On the executor's thread.
    void leave();
    bool has_left() const { return left_; }

private:
    using Time = std::chrono::steady_clock::time_point;

    void run();
    bool is_fresh() const;
    void join_group();
    bool await_assignment();
    void leave_group(bool in_group);
    void turn();
    void on_rebalance(rd_kafka_resp_err_t error, rd_kafka_topic_partition_list_t* partitions);
    void ask_who_is_alive();
    void lose_group();
    void announce(Members now);

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

}  // namespace beckon::log::kafka
