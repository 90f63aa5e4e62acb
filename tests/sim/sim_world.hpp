#pragma once

#include "core/tokens.hpp"
#include "sim/hostile_time.hpp"
#include "sim/sim_process.hpp"
#include "support/manual_clock.hpp"
#include "support/memory_log.hpp"
#include "support/temp_dir.hpp"
#include "support/test_executor.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace beckon::sim {

inline constexpr core::Partition kPartitions = 2;

/// A message as its sender knows it.
struct SentMessage {
    core::Uaid uaid;
    core::ChannelId channel;
    core::MessageKey key;
    std::optional<std::string> topic = std::nullopt;
    std::uint32_t ttl_s = 0;
    bool answered_201 = false;
    std::optional<core::Offset> offset = std::nullopt;  ///< known with the 201
    core::Timestamp appended{};
    core::MonoTime published{};
    core::MonoTime answered{};  ///< with the 201
};

/// A user agent as a small state machine: it says hello with the uaid it knows, registers, acks
/// most of what it gets, nacks or forgets the rest, goes away, crashes and comes back.
struct SimClient {
    std::size_t number = 0;
    std::uint64_t session = 0;  ///< 0: not connected
    bool greeted = false;       ///< the hello was answered
    std::optional<core::Uaid> uaid;
    std::string home;                             ///< node that it is attached to
    std::set<core::ChannelId> asked;              ///< register sent, no answer yet
    std::set<core::ChannelId> channels;           ///< answered 200
    std::set<core::ChannelId> dropped;            ///< unregister sent at some time
    std::set<std::string> received;               ///< versions
    std::map<std::string, core::MonoTime> acked;  ///< when its home heard it
};

/// The whole edge in one thread: senders, the memory log, processes with real stores, clients; with
/// delays, failed and lost publishes, an absent log, crashes, lost disks, hanging processes and
/// compaction. Everything follows from the seed. `broken` collects what must never happen.
///
/// With hostile clocks the leader of each partition has a clock of its own that is wrong, drifts
/// and steps; so has each host, from its boot on; nights pass in which nobody writes; and a month
/// ends. What was answered 201 lives for as long as its sender asked for, by true time.
class SimWorld {
public:
    enum class Clocks { right, hostile };
    explicit SimWorld(std::uint64_t seed, Clocks clocks = Clocks::right);
    ~SimWorld();

    /// Some minutes of trouble.
    void misbehave();
    /// Faults end, all processes run; clients come back and acknowledge if asked to.
    void calm_down(bool clients_return);
    /// Kills the processes and looks at what is left.
    void check();

    std::vector<std::string> broken;
    /// What the run was about, so that a run that does nothing is noticed.
    struct Tally {
        std::size_t answered_201 = 0;
        std::size_t received = 0;
        std::size_t acked = 0;
        std::size_t crashes = 0;
        std::size_t registered = 0;
        std::size_t steps = 0;  ///< of clocks
    };
    Tally tally;

private:
    struct Slot {  ///< a machine: its disk stays when its process dies
        std::filesystem::path directory;
        std::unique_ptr<HostClock> clock;
        std::unique_ptr<SimProcess> process;
    };

    // --- dice
    bool chance(int percent) { return below(100) < static_cast<std::uint64_t>(percent); }
    std::uint64_t below(std::uint64_t limit) { return random_() % limit; }
    core::Duration up_to(core::Duration most) {
        return core::Duration{
            static_cast<core::Duration::rep>(below(static_cast<std::uint64_t>(most.count()) + 1))};
    }
    core::Bytes16 random_id();

    // --- processes
    void start(Slot& slot);
    void crash(Slot& slot);
    SimProcess* home_of(const core::Uaid& uaid);
    SimProcess* process(const std::string& node);

    // --- clients
    void act(SimClient& client);
    void connect(SimClient& client);
    void leave(SimClient& client, bool says_goodbye);
    void to_home(const SimClient& client, std::string text);
    void hear(edge::ToFront message);
    void hear(SimClient& client, const std::string& text);
    void notified(SimClient& client, const std::string& version);
    void ack(SimClient& client, const std::string& version);
    void ask_channel(SimClient& client);
    void drop_channel(SimClient& client);
    void fail(const std::string& what) { broken.push_back(what); }

    // --- senders
    void send_some();
    void send(const SimClient& client);
    std::uint32_t some_ttl();
    void trouble();
    void trouble_with_time();
    void silence();
    std::chrono::milliseconds some_step();

    // --- checks
    static Life life_of(const SentMessage& message);
    bool expired(const SentMessage& message) const;
    core::Timestamp reading_time() const;
    core::Timestamp comparing_time(core::Partition p) const;
    bool explained(const std::string& version, const SentMessage& message) const;
    bool replaced(const SentMessage& message) const;
    std::set<std::string> pending_in(store::PartitionStore& store, core::Partition p);
    void check_messages(const std::set<std::string>& pending);
    void check_clients(const std::vector<store::PartitionStore*>& stores);
    std::string difference(core::Partition p, store::PartitionStore& rebuilt,
                           store::PartitionStore& live);
    void check_rebuilt(core::Partition p, store::PartitionStore& live);
    bool is_quiet(core::Partition p);
    void wait_until_quiet();

    const bool hostile_;
    const store::Rotation rotation_;
    std::mt19937_64 random_;
    test::TempDir dir_{test::TempDir::in_memory()};
    test::ManualClock clock_;  ///< the truth
    HostileTime time_;
    test::SimExecutor executor_{clock_};
    core::Tokens tokens_;
    std::unique_ptr<log::MemoryLog> log_;
    std::unique_ptr<log::Publisher> sender_;
    std::size_t window_;
    int keenness_;  ///< percent of messages that clients acknowledge at once
    std::vector<Slot> slots_;
    std::vector<SimClient> clients_;
    std::map<std::uint64_t, std::size_t> sessions_;  ///< session to client
    std::uint64_t next_session_ = 0;
    std::uint64_t next_node_ = 0;
    std::map<std::string, SentMessage> sent_;  ///< by version
    /// Before this, something happened after which an ack may be forgotten (never a message).
    std::array<core::MonoTime, kPartitions> acks_certain_since_{};
    bool clients_returned_ = false;
};

}  // namespace beckon::sim
