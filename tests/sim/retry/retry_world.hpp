#pragma once

#include "sim/host_log.hpp"
#include "sim/retry/delivery_ledger.hpp"
#include "sim/retry/retry_story.hpp"
#include "sim/retry/sim_receivers.hpp"
#include "sim/retry/sim_retry.hpp"
#include "sim/sim_frame.hpp"

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace beckon::sim {

/// Beckon's webhooks in one thread: applications that post events, processes with the role retry
/// (RetryNode with all that it has), the log in memory, and receivers that accept, are slow,
/// refuse, throttle, hang, break connections, are down or gone, and come back. Processes are
/// killed, stopped, stalled and taken for dead; publishes fail, reports are lost, the log is away
/// for all or for one host, readers lag. Everything follows from the seed and the story. `broken`
/// collects what must never happen:
///
/// * A delivery is lost: every event of the log, for every webhook that wants it, ends accepted or
///   as a dead letter, and when faults and failures are over nothing waits any more.
/// * A delivery is attempted before it is due, by the clock that stamped its record (with hostile
///   clocks: by anything that this clock said since).
/// * A delivery is attempted again whose outcome was in the log, or whose success was known to a
///   process that had two undisturbed seconds to write it, or that stopped in order after it
///   (docs/formats/retry.md, "Outcomes of a crash"). Allowed are only the acts of a process that
///   does not know yet that its partition has another home, and their consequences.
/// * A delivery of an ordered webhook is attempted while an earlier one waits, though its partition
///   has had the same home since that was written.
/// * A healthy webhook waits: with nothing disturbed its first attempt begins within a bound,
///   though others, of its owner too, hang, refuse and are not there.
/// * Dead letters are not counted once each, at every process; a redriven one does not end again.
class RetryWorld final : public SimFrame {
public:
    explicit RetryWorld(std::uint64_t seed, Clocks clocks = Clocks::right, bool prints = false);
    ~RetryWorld();

    /// Runs the faults. Then they end, and the rest is checked.
    void live(const RetryStory& story);

    /// Counts of the run, so that a run that does nothing is noticed.
    struct Tally {
        std::size_t events = 0;
        std::size_t attempts = 0;
        std::size_t delivered = 0;
        std::size_t letters = 0;
        std::size_t redriven = 0;
        std::size_t repeated = 0;  ///< attempts after a success, as a crash allows
        std::size_t prompt = 0;    ///< first attempts that were held to the bound
        std::size_t kills = 0;
        std::size_t moves = 0;  ///< of a partition to another home
        std::size_t clock_steps = 0;
    };
    Tally tally;
    /// Over all records of the log: two runs that have the same are the same.
    std::uint64_t fingerprint() const;

private:
    struct Slot {  ///< a machine
        std::string name;
        std::unique_ptr<HostClock> clock;
        std::unique_ptr<HostLog> log;
        std::unique_ptr<SimRetry> process;
    };
    struct Hook {  ///< a webhook, and its receiver
        retry::Webhook webhook;
        bool healthy = false;  ///< it always accepts at once
    };
    struct Success {  ///< a receiver's acceptance that a process received
        core::MonoTime at;
        std::string node;
        bool stopped_after = false;  ///< that process has stopped in order since
    };

    // --- processes
    void start(Slot& slot);
    void start_later(Slot& slot);
    void kill(Slot& slot);
    void stop(Slot& slot);
    SimRetry* process(const std::string& node);
    SimRetry* some_ready();
    Slot& some_slot() { return slots_[below(slots_.size())]; }

    // --- applications
    void make_webhooks();
    void post_some();
    void post(const retry::Event& event);
    retry::Event some_event();
    void change_mood();
    void set_mood(const std::string& host, Mood mood);
    void enable(SimRetry& by);
    void redrive(SimRetry& by, std::size_t most);

    // --- the story
    void happen(const RetryStep& step);
    void fault_of_process(RetryAct act);
    void fault_of_log(RetryAct act);
    void disturbed(core::Duration how_long, const std::string& stop_of = "");
    void step_some_clock();
    void watch();
    void calm_down();

    // --- what must hold meanwhile
    void began(const SimAttempt& attempt);
    void took(const SimAttempt& attempt);
    void answered(const SimAttempt& attempt, const retry::HttpAnswer& answer);
    void check_due(const SimAttempt& attempt, const DeliveryLedger::Known& known);
    void check_not_over(const SimAttempt& attempt, const DeliveryLedger::Known& known);
    void check_success(const SimAttempt& attempt, const DeliveryLedger::Known& known);
    void note_order(const std::string& delivery);
    void check_order(const SimAttempt& attempt, const DeliveryLedger::Known& known);
    bool was_given_up(const DeliveryLedger::Known& known) const;
    bool may_be_overtaken(const std::string& delivery) const;
    bool is_due(const DeliveryLedger::Known& known, const DeliveryLedger::Written& record) const;
    std::string records_of(const DeliveryLedger::Known& known) const;
    bool is_only_home(const std::string& node, const DeliveryLedger::Known& known);
    void note_homes();
    /// Whether something happened between these two that keeps processes from their work; not
    /// counting that this node was stopped.
    bool was_disturbed(core::MonoTime from, core::MonoTime to,
                       const std::string& stop_of = "") const;
    void read_ledger();
    void note_deliveries(std::size_t event);
    void expect_prompt(std::size_t event);

    // --- what must hold in the end
    struct Expected {
        std::string delivery;
        const Hook* hook;
        const DeliveryLedger::SeenEvent* event;
    };
    bool wants(const Hook& hook, const retry::Event& event) const;
    std::vector<Expected> expected() const;
    bool has_ended(const Expected& one) const;
    core::MonoTime known_to_all(const std::string& webhook, core::MonoTime change) const;
    bool may_be_missing(const Expected& one) const;
    std::vector<std::string> not_ended() const;
    bool all_quiet() const;
    void wait_until_ended(const std::string& when);
    void check_promptness_beside_failing();
    void check_redrive();
    void check_letters();
    core::Duration longest_wait() const;

    const bool narrow_;
    const bool crowded_;
    std::map<log::TopicPartition, std::vector<core::MonoTime>> appended_at_;
    core::Duration append_delay_max_;
    core::Duration read_delay_max_;
    core::Duration late_by_max_;
    std::unique_ptr<log::MemoryLog> log_;
    retry::TierTable table_;
    SimReceivers receivers_;
    DeliveryLedger ledger_;
    retry::RetryNode::Options node_options_;
    std::size_t threads_ = 1;
    std::vector<Slot> slots_;
    std::map<std::string, Hook> hooks_;  ///< by host of the receiver
    std::uint64_t next_node_ = 0;
    std::uint64_t next_event_ = 0;
    std::vector<retry::Event> posted_;
    /// When requests were answered that enabled webhooks again.
    std::map<std::string, std::set<core::MonoTime>> enabled_answers_;
    std::set<std::string> answered_202_;  ///< ids of events

    struct Disturbance {
        core::MonoTime from;
        core::MonoTime to;
        std::string stop_of;  ///< a node
    };
    std::vector<Disturbance> disturbances_;
    /// Nodes and hosts of receivers whose mood they have met.
    std::set<std::pair<std::string, std::string>> moods_known_;
    /// A receiver that hangs is taken for quick until its first attempts have timed out.
    core::MonoTime moods_known_from_{};
    core::Duration stepped_back_{};  ///< by leaders' clocks, together
    /// Until then somebody may act as a home of the partition who is none.
    std::vector<core::MonoTime> two_homes_until_;
    /// Deliveries of ordered webhooks that have not ended, by webhook and offset in tier 0.
    std::map<std::string, std::map<core::Offset, std::string>> in_order_;
    std::set<std::string> forked_;  ///< deliveries that such a one has attempted or written
    std::map<std::string, std::vector<core::MonoTime>> taken_;  ///< by receivers
    std::map<std::string, std::size_t> event_of_;  ///< by delivery: its event in the ledger
    std::map<std::string, core::MonoTime> first_attempt_;
    std::map<std::string, Success> successes_;
    std::size_t events_seen_ = 0;
};

}  // namespace beckon::sim
