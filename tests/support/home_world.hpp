#pragma once

#include "core/key_ring.hpp"
#include "core/tokens.hpp"
#include "edge/home/home.hpp"
#include "edge/protocol/frames.hpp"
#include "records/events.hpp"
#include "records/ownership.hpp"
#include "records/receipt.hpp"
#include "store/edge_store.hpp"
#include "support/faulty_disk.hpp"
#include "support/manual_clock.hpp"
#include "support/memory_log.hpp"
#include "support/temp_dir.hpp"
#include "support/test_executor.hpp"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace beckon::test {

/// The frames that a client's session has received, in order, then perhaps "closed <code> <why>"
/// or, if its front finds it another home, "released <why>".
using Received = std::vector<std::string>;

/// A partition's home over the memory log and a real store in a temporary directory. This object
/// stands for the fronts, and only keeps the frames that it received.
class HomeWorld : public edge::FrontTransport {
public:
    static constexpr core::Partition kPartition = 0;

    struct Options {
        std::uint64_t seed = 1;
        core::Duration append_delay_max{};
        core::Duration read_delay_max{};
        std::size_t delivery_window = 10;
        std::size_t delivery_window_max = 0;  ///< 0: the same
        std::size_t delivery_window_bytes = 512U << 10;
        std::size_t cache_bytes = 1U << 20;  ///< 0: each look at a file reads it
        std::size_t max_pending = 10'000;
        std::string max_pending_policy = "drop-oldest";
        std::size_t channels_per_client = 1'000;
        std::chrono::seconds client_ttl{std::chrono::hours{24 * 60}};
    };

    HomeWorld() : HomeWorld(Options{}) {}
    explicit HomeWorld(const Options& options)
        : options_(options),
          log(log::make_memory_log({.seed = options.seed,
                                    .partitions = 1,
                                    .clock = &clock,
                                    .append_delay_max = options.append_delay_max,
                                    .read_delay_max = options.read_delay_max})),
          sender_(log->open_publisher(executor)) {}

    // --- the home's life
    /// Opens the store and starts a home, not serving yet.
    void start_home(const std::string& node = "home") {
        open_store();
        publisher_ = log->open_publisher(executor);
        edge_options_ = {.node = {node}, .partitions = 1, .milestones = milestones};
        edge_options_.client_ping_interval_min = {};
        edge_options_.endpoint_url = "https://push.example.org";
        auto& window = edge_options_.window;
        window.messages_min = options_.delivery_window;
        window.messages_max = std::max(options_.delivery_window_max, options_.delivery_window);
        window.unacked = std::max(10 * window.messages_min, 2 * window.messages_max);
        window.bytes = window.bytes_max = options_.delivery_window_bytes;
        edge_options_.max_pending = options_.max_pending;
        edge_options_.max_pending_policy = options_.max_pending_policy;
        edge_options_.channels_per_client_max = options_.channels_per_client;
        edge_options_.client_ttl = options_.client_ttl;
        home = std::make_unique<edge::Home>(
            kPartition,
            edge::HomeContext{edge_options_, *log, *publisher_, *this, executor, clock, tokens,
                              tombstones, outcomes},
            store->open_partition(kPartition));
        home->start();
    }
    /// Starts a home and lets it serve.
    void serve(const std::string& node = "home") {
        start_home(node);
        home->placed_here(floor());
        run();
    }
    /// The highest epoch that `ownership` shows, as Cluster::highest_epoch() has it.
    core::Epoch floor() const {
        core::Epoch highest = 0;
        for (const auto& stored : log->records({log::Topic::kOwnership, 0})) {
            core::RecordView view;
            view.key = stored.record.key;
            if (stored.record.value) view.value = *stored.record.value;
            const auto event = cluster::decode_ownership(view);
            if (const auto* epoch = std::get_if<cluster::EpochRecord>(&event)) {
                highest = std::max(highest, epoch->epoch);
            }
        }
        return highest;
    }
    /// As a kill: no pending task runs, nothing is flushed.
    void crash() {
        home.reset();
        there_.clear();
        publisher_.reset();
        executor.forget_all();
        store.reset();
        sender_ = log->open_publisher(executor);
    }
    /// Between two lives: the disk of the edge is lost.
    void lose_store() { std::filesystem::remove_all(dir_ / "edge"); }
    void run(core::Duration span = std::chrono::milliseconds{500}) { executor.run_for(span); }

    // --- clients
    std::uint64_t attach(const core::Uaid& uaid, bool offered) {
        const auto number = ++sessions_;
        received[number];
        uaids_[number] = uaid;
        greets_.insert(number);
        receive(edge::Attach{session(number), uaid, offered});
        return number;
    }
    /// A client that offers a UAID, or none; its hello is on its way.
    std::uint64_t hello(std::optional<core::Uaid> uaid = std::nullopt) {
        return attach(uaid.value_or(core::Uaid{core::random_uuid4()}), uaid.has_value());
    }
    /// As hello(), and gives the home time to answer.
    std::uint64_t connect(std::optional<core::Uaid> uaid = std::nullopt) {
        const auto number = hello(uaid);
        run();
        return number;
    }
    /// Attaches a client whose hello another home has answered, or this one in an earlier life.
    std::uint64_t attach_again(const core::Uaid& uaid, const edge::Attach::Again& again) {
        const auto number = ++sessions_;
        received[number];
        uaids_[number] = uaid;
        receive(edge::Attach{session(number), uaid, true, again});
        run();
        return number;
    }
    /// Attaches it with the values that its home sent to the front of that session.
    std::uint64_t attach_again(std::uint64_t number) {
        const auto& was = attached.at(number);
        return attach_again(was.uaid, {.stamp = was.stamp, .persisted = was.persisted});
    }
    /// A frame that a front passes on.
    void send_frame(std::uint64_t number, std::string_view text) {
        edge::FrameParser parser;
        receive(edge::FromClient{session(number), uaids_.at(number),
                                 std::get<edge::ClientCommand>(parser.parse(text).value())});
    }
    void register_channel(std::uint64_t number, const core::ChannelId& channel) {
        send_frame(number, R"({"messageType":"register","channelID":")" + core::to_dashed(channel) +
                               R"("})");
        run();
    }
    void unregister_channel(std::uint64_t number, const core::ChannelId& channel) {
        send_frame(number, R"({"messageType":"unregister","channelID":")" +
                               core::to_dashed(channel) + R"("})");
        run();
    }
    void ack(std::uint64_t number, std::string_view version, int code = 100) {
        send_frame(number, R"({"messageType":"ack","updates":[{"channelID":")" +
                               core::to_dashed(core::ChannelId{}) + R"(","version":")" +
                               std::string{version} + R"(","code":)" + std::to_string(code) +
                               "}]}");
    }
    void hang_up(std::uint64_t number) {
        there_.erase(number);
        receive(edge::Detach{session(number), uaids_.at(number)});
    }
    core::Uaid uaid(std::uint64_t number) const { return uaids_.at(number); }
    /// A client with one channel, which then left: its UAID and channel.
    std::pair<core::Uaid, core::ChannelId> subscribed() {
        const auto number = connect();
        const core::ChannelId channel{core::random_uuid4()};
        register_channel(number, channel);
        hang_up(number);
        return {uaid(number), channel};
    }
    /// The frames that the session received since the last call.
    Received take(std::uint64_t number) { return std::exchange(received.at(number), {}); }
    /// The versions of the notifications among that.
    std::vector<std::string> take_versions(std::uint64_t number) { return versions(take(number)); }
    static std::vector<std::string> versions(const Received& frames) {
        std::vector<std::string> out;
        for (const auto& frame : frames) {
            constexpr std::string_view kName = R"("version":")";
            const auto at = frame.find(kName);
            if (at == std::string::npos) continue;
            const auto from = at + kName.size();
            out.push_back(frame.substr(from, frame.find('"', from) - from));
        }
        return out;
    }

    // --- senders
    struct Push {
        std::uint32_t ttl_s = 3600;
        std::optional<std::string> topic = std::nullopt;
        std::string body = "body";
        std::optional<std::string> reliability_id = std::nullopt;
        std::optional<std::string> receipt = std::nullopt;  ///< as text
    };
    /// Publishes a message; its version.
    std::string push(const core::Uaid& uaid, const core::ChannelId& channel, const Push& push) {
        const auto key = core::new_message_key(clock.wall());
        const auto id = tokens.seal_message({uaid, key});
        core::NotificationAccepted event;
        event.uaid = uaid;
        event.key = key;
        event.message_id = id;
        event.channel = channel;
        event.ttl_s = push.ttl_s;
        if (push.topic) event.topic = *push.topic;
        if (push.reliability_id) event.reliability_id = *push.reliability_id;
        event.encoding = "aes128gcm";
        event.source = "sender";
        event.body = push.body;
        last_put = core::encode(event);
        if (push.receipt) last_put.headers.push_back({core::kReceiptHeader, *push.receipt});
        publish(log::Topic::kNotifications, last_put);
        return id;
    }
    std::string push(const core::Uaid& uaid, const core::ChannelId& channel) {
        return push(uaid, channel, Push{});
    }
    /// Somebody else ends a message.
    void finish(const core::Uaid& uaid, const std::string& version, core::FinishReason why) {
        publish(log::Topic::kNotifications,
                core::encode(core::NotificationFinished{.uaid = uaid,
                                                        .key = tokens.open_message(version)->key,
                                                        .reason = why,
                                                        .source = {}}));
    }
    void publish(log::Topic topic, core::Record record) {
        sender_->publish({topic, topic == log::Topic::kOwnership ? 0 : kPartition},
                         std::move(record), [](const auto&) {});
    }

    // --- looking
    /// Sessions of which the fronts think that they are attached here.
    std::size_t sessions_of_fronts() const { return there_.size(); }
    /// Messages of the log that have no tombstone.
    std::size_t unfinished_in_log() const {
        std::map<std::string, bool> open;
        for (const auto& stored : log->records({log::Topic::kNotifications, kPartition})) {
            if (core::is_control_key(stored.record.key)) continue;
            open[stored.record.key] = stored.record.value.has_value();
        }
        std::size_t count = 0;
        for (const auto& [key, is_open] : open) count += is_open ? 1 : 0;
        return count;
    }
    /// The reasons of the tombstones, in log order.
    std::vector<std::string> reasons() const { return in_tombstones(core::header::kReason); }
    /// A header of the messages' tombstones, where it is.
    std::vector<std::string> in_tombstones(std::string_view header) const {
        std::vector<std::string> out;
        for (const auto& stored : log->records({log::Topic::kNotifications, kPartition})) {
            if (stored.record.value || core::is_control_key(stored.record.key)) continue;
            for (const auto& h : stored.record.headers) {
                if (h.name == header) out.push_back(h.value);
            }
        }
        return out;
    }
    std::size_t records_in(log::Topic topic, std::string_view key_prefix) const {
        std::size_t count = 0;
        for (const auto& stored : log->records({topic, kPartition})) {
            if (stored.record.key.starts_with(key_prefix)) ++count;
        }
        return count;
    }

    void to_front(edge::ToFront message) override {
        std::visit(
            core::Overloaded{
                [this](edge::ToClient& m) {
                    received[m.session.number].push_back(std::move(m.text));
                },
                [this](const edge::CloseClient& m) {
                    there_.erase(m.session.number);
                    if (m.kind == edge::CloseClient::Kind::released) {
                        received[m.session.number].push_back("released " + m.reason);
                        return;
                    }
                    received[m.session.number].push_back(
                        "closed " + std::to_string(static_cast<int>(m.code)) + ' ' + m.reason);
                },
                [this](const edge::Attached& m) {
                    there_.insert(m.session.number);
                    uaids_[m.session.number] = m.uaid;
                    attached.insert_or_assign(m.session.number, m);
                    // A front answers the hello then.
                    if (greets_.erase(m.session.number) > 0) {
                        received[m.session.number].push_back(edge::hello_frame(m.uaid));
                    }
                }},
            message);
    }

private:
    void receive(const edge::ToHome& message) {
        const Turn turn;
        home->receive(message);
    }
    static edge::SessionId session(std::uint64_t number) { return {{"front"}, 0, number}; }
    void open_store() {
        if (store) return;
        auto opened = store::EdgeStore::open({.directory = dir_ / "edge",
                                              .log_id = "log-1",
                                              .cache_bytes = options_.cache_bytes,
                                              .write_buffer_bytes = 1U << 20,
                                              .memory = nullptr,
                                              .env = disk.env()});
        if (!opened) throw std::runtime_error(opened.error().message);
        store = std::move(*opened);
    }

    const Options options_;
    edge::EdgeOptions edge_options_;
    TempDir dir_;

public:
    ManualClock clock;
    SimExecutor executor{clock};
    std::unique_ptr<log::MemoryLog> log;
    core::Tokens tokens{std::make_shared<core::KeyRing>(core::KeyRing::generate())};
    FaultyDisk disk;  ///< of the store
    core::Record last_put;
    std::unique_ptr<store::EdgeStore> store;
    edge::TombstonesInFlight tombstones;
    edge::OutcomesInFlight outcomes;
    core::MilestoneSink* milestones = nullptr;  ///< set before a home starts
    std::map<std::uint64_t, Received> received;
    std::map<std::uint64_t, edge::Attached> attached;  ///< the last one of each session

private:
    std::unique_ptr<log::Publisher> sender_;
    std::unique_ptr<log::Publisher> publisher_;
    std::map<std::uint64_t, core::Uaid> uaids_;
    std::set<std::uint64_t> there_;
    std::set<std::uint64_t> greets_;  ///< sessions whose hello has no answer yet
    std::uint64_t sessions_ = 0;

public:
    std::unique_ptr<edge::Home> home;
};

/// A world whose home serves.
class ServingHome : public HomeWorld {
public:
    ServingHome() : ServingHome(Options{}) {}
    explicit ServingHome(const Options& options) : HomeWorld(options) { serve(); }
};

}  // namespace beckon::test
