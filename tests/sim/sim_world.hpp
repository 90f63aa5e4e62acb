#pragma once

#include "sim/host_log.hpp"
#include "sim/sim_edge.hpp"
#include "sim/sim_endpoint.hpp"
#include "sim/sim_frame.hpp"
#include "sim/sim_tracking.hpp"
#include "support/temp_dir.hpp"

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

inline constexpr core::Partition kPartitions = 3;
/// A process that has ended is started again within this.
inline constexpr core::Duration kBackAfter = std::chrono::seconds{12};

/// A message as its sender knows it.
struct SentMessage {
    core::Uaid uaid;
    core::ChannelId channel;
    std::optional<std::string> topic = std::nullopt;
    std::uint32_t ttl_s = 0;
    std::string version = {};  ///< once the 201 came, or the client got it
    bool answered_201 = false;
    std::optional<core::Offset> offset = std::nullopt;  ///< known with the 201
    core::Timestamp appended{};
    core::MonoTime published{};
    core::MonoTime answered{};        ///< with the 201
    bool taken_back = false;          ///< DELETE was sent
    bool deleted = false;             ///< and answered 204
    std::string reliability_id = {};  ///< of a tracked one, known with the 201
};

/// A user agent as a small state machine: it says hello with the uaid it knows, registers, acks
/// most of what it gets, nacks or forgets the rest, goes away, crashes and comes back.
struct SimClient {
    std::size_t number = 0;
    std::uint64_t connection = 0;  ///< 0: none
    bool greeted = false;          ///< the hello was answered
    std::optional<core::Uaid> uaid;
    std::set<core::ChannelId> asked;                   ///< register sent, no answer yet
    std::set<core::ChannelId> ending;                  ///< unregister sent, no answer yet
    std::map<core::ChannelId, std::string> channels;   ///< answered 200, with the path to post to
    std::set<core::ChannelId> dropped;                 ///< unregister sent at some time
    std::map<std::uint64_t, core::MonoTime> received;  ///< messages, and when they came last
    std::set<std::uint64_t> acked;                     ///< sent towards its home
    /// Its home has received it for sure.
    std::map<std::uint64_t, core::MonoTime> confirmed;
};

/// All of Beckon's push in one thread: senders, endpoints, the log in memory, edges with fronts,
/// homes, links and the cluster's real code, and clients; with delays, kills and stops at any step,
/// lost disks, processes that stall or are taken for dead, failed and lost publishes, a log
/// that is away for all or for one host, readers that lag, cut and slow links, full mailboxes and
/// compaction. Everything follows from the seed and the story. `broken` collects what must never
/// happen.
///
/// With hostile clocks the leader of each partition has a clock of its own that is wrong, drifts
/// and steps; so has each host, from its boot on; nights pass in which nobody writes; and a month
/// ends. A message that was answered 201 lives for its TTL, by true time.
///
/// In some worlds with right clocks all messages are tracked, and processes with the role
/// reliability, which are killed too, count their milestones.
class SimWorld final : public SimFrame, private ClientSide {
public:
    explicit SimWorld(std::uint64_t seed, Clocks clocks = Clocks::right, bool prints = false);
    ~SimWorld() override;

    /// Plays the story. Then all faults end, all processes run, clients come back (in two worlds of
    /// three), and the final state is checked.
    void live(const Story& story);

    /// Counts of the run's events, so that a run that does nothing is noticed.
    struct Tally {
        std::size_t answered_201 = 0;
        std::size_t received = 0;
        std::size_t acked = 0;
        std::size_t kills = 0;
        std::size_t registered = 0;
        std::size_t clock_steps = 0;
        std::size_t times_lost = 0;  ///< the log's host was down for an unknown time
        std::size_t links = 0;       ///< ends of links that came up
        std::size_t moves = 0;       ///< of a partition from one serving home to another
        std::size_t wrong_suspicions = 0;
        std::size_t failovers = 0;
        std::size_t quick_failovers = 0;  ///< in less than a second
        std::size_t ends_counted = 0;  ///< of tracked messages that were acknowledged for certain
    };
    Tally tally;
    /// Over all records of the log: two runs that have the same are the same.
    std::uint64_t fingerprint() const;

private:
    struct EdgeSlot {  ///< a machine: its disk stays when its process dies
        std::string name;
        std::filesystem::path directory;
        std::unique_ptr<test::MemoryDisk> disk;
        std::unique_ptr<HostClock> clock;
        std::unique_ptr<HostLog> log;
        std::unique_ptr<SimEdge> process;
    };
    struct EndpointSlot {
        std::filesystem::path directory;
        std::unique_ptr<test::MemoryDisk> disk;
        std::unique_ptr<HostClock> clock;
        std::unique_ptr<HostLog> log;
        std::unique_ptr<SimEndpoint> process;
    };
    struct CounterSlot {  ///< a machine with the role reliability
        std::filesystem::path directory;
        std::unique_ptr<SimReliability> process;
    };
    /// A client's connection, as the network sees it.
    struct Socket {
        std::size_t client;
        std::string node;
        std::size_t shard;
        core::MonoTime to_edge_due{};
        core::MonoTime to_client_due{};
    };

    core::Bytes16 random_id();

    // --- processes
    std::unique_ptr<HostClock> some_clock();
    void start(EdgeSlot& slot);
    void start(EndpointSlot& slot);
    void end(EdgeSlot& slot);
    void kill(EdgeSlot& slot);
    void kill(EndpointSlot& slot);
    EdgeSlot& some_edge() { return edges_[below(edges_.size())]; }
    SimEdge* process(const std::string& node);
    void start_later(EdgeSlot& slot);
    void notice_moves();

    // --- clients
    void act(SimClient& client);
    void connect(SimClient& client);
    void leave(SimClient& client, bool sends_goodbye);
    void disconnected(SimClient& client);
    void send_frame(const SimClient& client, std::string text);
    void to_edge(std::uint64_t connection, std::function<void(SimSockets&)> f);
    void later_to_client(std::uint64_t connection, std::function<void(SimClient&)> f);
    void to_client(std::uint64_t connection, std::string text) override;
    void ping_client(std::uint64_t connection) override;
    void close_client(std::uint64_t connection, const edge::Closing& closing) override;
    void receive(SimClient& client, const std::string& text);
    void notified(SimClient& client, std::uint64_t number, const std::string& version);
    void ack(SimClient& client, std::uint64_t number);
    void nack(const SimClient& client, const std::string& version);
    void ask_channel(SimClient& client);
    void drop_channel(SimClient& client);

    // --- senders
    void send_some();
    void send(const SimClient& client);
    void answered(std::uint64_t number, const net::HttpReply& reply);
    void accepted(SentMessage& message, const net::HttpReply& reply);
    void take_back();
    void remember_messages();
    std::uint32_t some_ttl();
    SimEndpoint* some_endpoint();

    // --- the story
    void happen(const Step& step);
    void fault_of_edge(Act act);
    void fault_of_endpoint(Act act);
    void fault_of_log(Act act);
    void fault_of_links(Act act);
    void reject_links();
    void step_some_clock();
    void lose_time();
    void silence();
    void compact_some();
    std::chrono::milliseconds some_step();
    void calm_down();
    bool connect_all();
    void bring_clients_back();

    // --- milestones
    static core::Sha256 tracked_key_sha256();
    void begin_tracking();
    void start(CounterSlot& slot);
    void kill_a_counter_later();
    const SimReliability* counter_of(core::Partition p) const;
    bool milestones_are_counted() const;
    void check_milestones();
    void check_counts(core::Partition p);
    void check_history(std::uint64_t number, const SentMessage& message);

    // --- checks
    void check();
    static Life life_of(const SentMessage& message);
    bool expired(const SentMessage& message) const;
    core::Timestamp reading_time() const;
    core::Timestamp comparing_time(core::Partition p) const;
    bool explained(std::uint64_t number, const SentMessage& message) const;
    bool replaced(const SentMessage& message) const;
    bool certainly_acked(const SimClient& client, std::uint64_t number) const;
    void check_delivered(const SimClient& client, std::uint64_t number);
    std::set<std::string> pending_in(store::PartitionStore& store, core::Partition p) const;
    void check_messages(const std::set<std::string>& pending);
    void check_clients(const std::vector<std::unique_ptr<store::PartitionStore>>& stores);
    std::string difference(core::Partition p, store::PartitionStore& rebuilt,
                           store::PartitionStore& live) const;
    void pay_for_expired(store::PartitionStore& rebuilt);
    void check_rebuilt(const std::vector<std::unique_ptr<store::PartitionStore>>& live);
    void check_sessions();
    bool is_quiet(core::Partition p);
    void wait_until_quiet();

    const bool clients_return_;
    const bool tracks_;  ///< all messages are tracked
    const store::Rotation rotation_;
    const Buffers buffers_;
    test::TempDir dir_{test::TempDir::in_memory()};
    std::unique_ptr<log::MemoryLog> log_;
    std::unique_ptr<SimNetwork> network_;
    SimEdge::Options edge_options_;
    std::uint64_t keenness_;  ///< percent of messages that clients acknowledge at once
    std::vector<EdgeSlot> edges_;
    std::vector<EndpointSlot> endpoints_;
    std::vector<CounterSlot> counters_;
    std::mt19937_64 tracking_dice_;
    std::string authorization_;  ///< of senders whose messages are tracked
    bool reports_may_be_lost_ = false;
    bool calm_ = false;  ///< the faults are over
    std::vector<SimClient> clients_;
    std::map<std::uint64_t, Socket> sockets_;
    std::uint64_t next_connection_ = 0;
    std::uint64_t next_node_ = 0;
    std::uint64_t next_message_ = 0;
    std::map<std::uint64_t, SentMessage> sent_;
    std::map<std::string, std::uint64_t> by_version_;
    /// By version: where messages stood before the last compaction.
    std::map<std::string, std::pair<core::Offset, core::Timestamp>> stood_;
    std::array<std::string, kPartitions> served_by_{};
    /// Before this, something happened after which an ack may be forgotten (never a message).
    std::array<core::MonoTime, kPartitions> acks_certain_since_{};
};

}  // namespace beckon::sim
