#pragma once

#include "bench/load/ledger.hpp"
#include "bench/load/load_client.hpp"
#include "bench/load/load_sender.hpp"
#include "bench/load/process_stats.hpp"
#include "client/p256_key.hpp"
#include "client/url.hpp"
#include "core/result.hpp"

#include <chrono>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace beckon::bench {

using core::Result;

enum class VapidUse { none, sign, restrict_channels };

struct GeneratorOptions {
    client::Url url;  ///< of the WebSocket server
    /// Clients that traffic goes to connect here once they have a channel; none: they stay at
    /// `url`.
    std::optional<client::Url> reconnect_to = std::nullopt;
    std::optional<client::Url> endpoint =
        std::nullopt;              ///< the target of POSTs; none: the endpoint URLs
    std::size_t body_bytes = 300;  ///< encrypted
    std::uint32_t ttl_s = 3'600;
    std::size_t senders = 64;  ///< HTTP connections
    std::size_t pipeline = 1;  ///< POSTs in flight on each when saturating
    /// A connection that had nothing to do for longer is opened anew before a POST goes into it:
    /// the server may be closing it (Beckon does so after 30 s), and the POST had no answer.
    std::chrono::milliseconds reuse_for{20'000};
    VapidUse vapid = VapidUse::none;
    /// The key to sign with, as `beckon keys vapid` makes it; empty: a new one.
    std::filesystem::path vapid_key_file = {};
    std::size_t connecting_max = 256;            ///< handshakes at the same time
    std::chrono::milliseconds patience{30'000};  ///< for replies and frames still to come
    std::chrono::milliseconds rest_for{1'000};   ///< before memory is read, after clients left
    std::vector<NamedProcess> processes = {};
    std::function<void(const std::string&)> progress = {};  ///< one line for a person
};

/// CPU that a process used while a profile was measured.
struct CpuUse {
    std::string name;
    double seconds = 0;
};

/// A measured span of traffic.
struct Traffic {
    double seconds = 0;
    Tally tally;
    std::vector<CpuUse> cpu;  ///< of the named processes
    double own_cpu_s = 0;     ///< of the generator
    std::size_t clients_lost = 0;
};

struct Span {
    std::chrono::nanoseconds warm_up{};
    std::chrono::nanoseconds measured{};
};

/// How a process grew while connections were opened.
struct MemoryGrowth {
    std::string name;
    ProcessSample before;
    ProcessSample after;
};

struct IdleMemory {
    std::size_t connections = 0;
    double opening_s = 0;
    std::vector<MemoryGrowth> processes;
};

struct DrainRound {
    std::size_t messages = 0;    ///< of all clients
    double from_hello_ms = 0;    ///< first hello sent to last frame read
    double from_connect_ms = 0;  ///< connect to last frame read
};

/// The load generator: thousands of clients and some senders on one thread. Every message is a
/// POST with an RFC 8291 body made once; each is followed from the time it was due (so a server
/// that stalls cannot hide it: no coordinated omission) to its 201 and to its frame, and
/// acknowledged. Methods return when their profile is over; `unavailable` if the server cannot be
/// reached or does not do its part.
class Generator final : ClientEvents, SenderEvents {
public:
    /// Throws std::runtime_error if epoll cannot be had.
    explicit Generator(GeneratorOptions options);
    ~Generator();
    Generator(const Generator&) = delete;
    Generator& operator=(const Generator&) = delete;

    /// Connects clients until there are `count` of them, each with a channel, and the senders.
    Result<void> open(std::size_t count);
    /// `rate` messages a second, round robin over the clients, whatever the server does.
    Result<Traffic> at_rate(double rate, const Span& span);
    /// As fast as `senders` × `pipeline` POSTs in flight allow, but never more than
    /// `undelivered_max` messages ahead of delivery.
    Result<Traffic> saturated(const Span& span, std::size_t undelivered_max);
    /// How much the processes grow by `count` connections that do nothing. Closes them again.
    Result<IdleMemory> idle(std::size_t count, bool with_channel);
    /// The clients leave for good, and `messages` are sent to them in turns, as fast as the server
    /// accepts them: what latency costs then, another generator measures. Returns how many were
    /// accepted.
    Result<std::uint64_t> fill(std::size_t messages);
    /// The first `clients` leave, `messages` are sent to each, they come back and get them all.
    Result<DrainRound> drain(std::size_t clients, std::size_t messages);

private:
    struct DuePost {
        std::uint32_t sequence;
        std::size_t client;
    };
    struct ProcessCpu {
        std::vector<double> seconds;
        double own = 0;
    };

    ClientEvents& client_events() { return *this; }
    void on_ready(LoadClient& client) override;
    void on_notification(LoadClient& client, std::optional<Token> token) override;
    void on_client_end(LoadClient& client, std::string_view reason) override;
    void on_sender_ready(LoadSender& sender) override;
    void on_reply(LoadSender& sender, std::uint32_t sequence, int status) override;
    void on_sender_end(LoadSender& sender, const std::deque<std::uint32_t>& unanswered) override;

    /// `before`: how many other clients there are, for the choice of a source address.
    Result<void> connect_clients(std::span<const std::unique_ptr<LoadClient>> batch,
                                 std::size_t before);
    Result<void> find_server(const client::Url& url);
    Result<void> register_clients(std::size_t count);
    Result<void> move_clients(std::size_t first);
    Result<void> open_senders();
    static Result<void> allow_descriptors(std::size_t wanted);
    Result<void> prepare_posts();
    std::optional<std::uint32_t> source_of(std::size_t client) const;
    bool run_until(const std::function<bool()>& done, Nanos deadline);
    void rest(std::chrono::milliseconds span);
    void issue(Nanos due);
    void send_waiting();
    bool pass_to(LoadSender& sender, const DuePost& due);
    void run_at_rate(double rate, std::chrono::nanoseconds span);
    void run_saturated(std::chrono::nanoseconds span, std::size_t undelivered_max);
    void wait_for_replies();
    template <class Run>
    Result<Traffic> measure(const Span& span, Run run);
    Result<ProcessCpu> cpu_now() const;
    Result<std::vector<ProcessSample>> memory_now() const;
    void print(const std::string& line) const;

    const GeneratorOptions options_;
    const std::uint32_t run_;
    Loop loop_;
    ClientPlan client_plan_;
    ClientPlan idle_plan_;
    PostPlan post_plan_;
    std::optional<client::P256Key> vapid_;
    Ledger ledger_;

    std::vector<std::unique_ptr<LoadClient>> clients_;
    std::vector<std::string> targets_;  ///< of each client's endpoint
    std::vector<std::unique_ptr<LoadSender>> senders_;
    std::vector<LoadSender*> free_;   ///< senders that can take a POST
    std::vector<LoadSender*> ended_;  ///< senders to connect anew
    std::deque<DuePost> waiting_;     ///< due, but no sender was free
    std::size_t next_client_ = 0;
    std::size_t targeted_ = 0;  ///< messages go to the first so many clients
    std::size_t pipeline_ = 1;

    std::size_t connecting_ = 0;
    std::size_t ready_ = 0;
    std::size_t lost_ = 0;
    std::size_t failures_ = 0;
    bool opening_ = false;
    std::string last_problem_;
    Nanos last_frame_ = 0;
    std::uint64_t frames_ = 0;
};

}  // namespace beckon::bench
