#include "store/edge_fixture.hpp"
#include "store/edge_store.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace beckon::store {

using namespace test;

namespace {

/// One record of either log topic, with what it says owned.
struct Entry {
    enum class Kind { put, tombstone, client, client_removed, channel, channel_removed };
    core::Offset offset = 0;
    std::int64_t time_s = 0;
    Kind kind = Kind::put;
    core::Uaid uaid{};
    std::string name{};  ///< message or channel
    std::string channel{};
    std::optional<std::string> topic{};
    std::uint32_t ttl_s = 0;
    std::int64_t last_seen_s = 0;
    core::WriteStamp stamp{};

    /// The key by which compaction keeps the last record.
    std::string log_key() const { return core::to_hex(uaid) + "/" + name; }
    bool removes() const {
        return kind == Kind::tombstone || kind == Kind::client_removed ||
               kind == Kind::channel_removed;
    }
};
using Log = std::vector<Entry>;

/// False: lost by (epoch, seq).
bool fold(PartitionStore& part, const Entry& e) {
    switch (e.kind) {
        case Entry::Kind::put: {
            const Message how{.ttl_s = e.ttl_s, .channel = e.channel, .topic = e.topic};
            part.put(e.offset, at(e.time_s), accepted(e.uaid, e.name, how), nullptr);
            return true;
        }
        case Entry::Kind::tombstone:
            part.finish({.uaid = e.uaid,
                         .key = key_of(e.name),
                         .reason = core::FinishReason::acked,
                         .source = {}},
                        at(e.time_s));
            return true;
        case Entry::Kind::client: {
            core::ClientRecorded event;
            event.uaid = e.uaid;
            event.last_seen = at(e.last_seen_s);
            event.stamp = e.stamp;
            return part.put_client(event);
        }
        case Entry::Kind::client_removed:
            return part.remove_client({e.uaid, e.stamp}, at(e.time_s));
        case Entry::Kind::channel: {
            core::ChannelRecorded event;
            event.uaid = e.uaid;
            event.channel = channel_of(e.name);
            event.stamp = e.stamp;
            return part.put_channel(event);
        }
        case Entry::Kind::channel_removed:
            return part.remove_channel({e.uaid, channel_of(e.name), e.stamp}, at(e.time_s));
    }
    return true;
}

/// Both log topics of one partition and a home that folds and writes them: random senders, acks,
/// registrations, purges, records of a former home, commits and crashes.
class World {
public:
    World(EdgeFixture& store, unsigned seed) : store_(store), random_(seed) {
        REQUIRE(part().clear());
    }

    void run(int steps) {
        for (int i = 0; i < steps; ++i) step();
        while (fold_some(1'000'000) | publish_tombstones(1'000'000)) {
        }
        commit();
        REQUIRE(part().pending_tombstones().empty());
        // The clock goes on, and what expired unseen does not count.
        time_s_ += 10;
    }

    const Log& notifications() const { return notifications_; }
    const Log& subscriptions() const { return subscriptions_; }
    core::Timestamp now() const { return at(time_s_); }

private:
    PartitionStore& part() { return store_.part(); }
    int roll(int below) { return std::uniform_int_distribution<int>{0, below - 1}(random_); }

    void step() {
        time_s_ += roll(3) == 0 ? roll(20) : 0;
        const int what = roll(100);
        if (what < 35) return send();
        if (what < 45) return register_or_purge();
        if (what < 50) return write_as_former_home();
        if (what < 70) return static_cast<void>(fold_some(roll(12)));
        if (what < 82) return deliver();
        if (what < 92) return static_cast<void>(publish_tombstones(roll(6)));
        if (what < 97) return commit();
        if (what < 98) return part().write_postponed(roll(2) == 0);
        crash();
    }

    void append(Log& log, Entry entry) {
        // Offsets have gaps, as in Kafka.
        entry.offset = log.empty() ? 0 : log.back().offset + 1 + (roll(8) == 0 ? roll(50) : 0);
        entry.time_s = time_s_;
        log.push_back(std::move(entry));
    }

    core::Uaid a_client() { return uaid_of("u" + std::to_string(roll(6))); }

    void send() {
        static constexpr std::uint32_t kTtls[] = {0, 30, 300, 86'400, 86'400, 40 * 86'400};
        Entry e{
            .kind = Entry::Kind::put, .uaid = a_client(), .name = "m" + std::to_string(made_++)};
        e.ttl_s = kTtls[roll(6)];
        e.channel = "c" + std::to_string(roll(2));
        if (roll(2) == 0) e.topic = "t" + std::to_string(roll(2));
        append(notifications_, std::move(e));
    }

    void register_or_purge() {
        // A purged UAID is never given out again.
        Entry e{.uaid = uaid_of("r" + std::to_string(purged_ + roll(4)))};
        e.last_seen_s = time_s_;
        switch (roll(5)) {
            case 0: e.kind = Entry::Kind::client; break;
            case 1:
            case 2: e.kind = Entry::Kind::channel; break;
            case 3: e.kind = Entry::Kind::channel_removed; break;
            case 4:
                e.kind = Entry::Kind::client_removed;
                e.uaid = uaid_of("r" + std::to_string(purged_++));
                break;
        }
        if (e.kind == Entry::Kind::channel || e.kind == Entry::Kind::channel_removed) {
            e.name = "c" + std::to_string(roll(3));
        }
        e.stamp = {.epoch = 2, .seq = ++seq_};
        append(subscriptions_, std::move(e));
    }

    void write_as_former_home() {
        Entry e{.uaid = uaid_of("r" + std::to_string(roll(purged_ + 4)))};
        e.last_seen_s = 1;
        const int what = roll(4);
        e.kind = what == 0   ? Entry::Kind::client
                 : what == 1 ? Entry::Kind::client_removed
                 : what == 2 ? Entry::Kind::channel
                             : Entry::Kind::channel_removed;
        if (what >= 2) e.name = "c" + std::to_string(roll(3));
        // It only has a chance where the present home has written nothing yet.
        if (wrote(e)) {
            e.stamp = {.epoch = 1, .seq = ++seq_};
            append(subscriptions_, std::move(e));
        }
    }
    bool wrote(const Entry& like) const {
        return std::any_of(subscriptions_.begin(), subscriptions_.end(), [&](const Entry& e) {
            return e.stamp.epoch == 2 && e.log_key() == like.log_key();
        });
    }

    /// True if anything was there.
    bool fold_some(int max) {
        bool any = false;
        for (int i = 0; i < max && next_notification_ < notifications_.size(); ++i) {
            const Entry e = notifications_[next_notification_++];
            fold(part(), e);
            if (e.kind == Entry::Kind::tombstone) pending_tombstones_.erase(key_of(e.name));
            part().advance(Source::notifications, e.offset + 1, std::nullopt);
            any = true;
        }
        for (int i = 0; i < max && next_subscription_ < subscriptions_.size(); ++i) {
            const Entry e = subscriptions_[next_subscription_++];
            if (!fold(part(), e)) publish_repair(e);
            part().advance(Source::subscriptions, e.offset + 1, at(time_s_));
            any = true;
        }
        for (const auto& pending : part().take_new_pending_tombstones().pending_tombstones)
            pending_tombstones_.emplace(pending.key, pending);
        return any;
    }

    /// A record of a former home lost: compaction must keep ours. If this home has written the key
    /// since and not read that record yet, the record stands behind the loser anyway; the older
    /// value must not come behind it.
    void publish_repair(const Entry& loser) {
        const auto unread =
            subscriptions_.begin() + static_cast<std::ptrdiff_t>(next_subscription_);
        if (std::any_of(unread, subscriptions_.end(), [&](const Entry& e) {
                return e.log_key() == loser.log_key() && e.stamp.epoch == 2;
            })) {
            return;
        }
        Entry e = loser;
        e.stamp = {.epoch = 2, .seq = ++seq_};
        if (loser.name.empty()) {
            const auto client = part().client(loser.uaid);
            e.kind = client ? Entry::Kind::client : Entry::Kind::client_removed;
            if (client) e.last_seen_s = (client->last_seen - at(0)) / std::chrono::seconds{1};
        } else {
            const bool lives = part().channel(loser.uaid, channel_of(loser.name)).has_value();
            e.kind = lives ? Entry::Kind::channel : Entry::Kind::channel_removed;
        }
        append(subscriptions_, std::move(e));
    }

    void deliver() {
        const auto uaid = a_client();
        std::vector<core::MessageKey> got;
        DrainCursor cursor{.until = core::Offset{1} << 40};
        const auto read =
            part().read_pending(uaid, cursor, static_cast<std::size_t>(roll(5)), at(time_s_),
                                [&](const MessageView& m) { got.push_back(m.key); });
        part().expire(uaid, read.expired);
        for (const auto& key : got) {
            if (roll(3) == 0) continue;
            CHECK((roll(2) == 0 ? part().add_tombstone(uaid, key, core::FinishReason::acked)
                                : part().add_acked_tombstone(uaid, key, std::nullopt)));
        }
        for (const auto& pending : part().take_new_pending_tombstones().pending_tombstones)
            pending_tombstones_.emplace(pending.key, pending);
    }

    /// In the order of their puts, so that a replaced message never stands alone.
    bool publish_tombstones(int max) {
        std::vector<PendingTombstone> due;
        for (const auto& [key, pending] : pending_tombstones_) due.push_back(pending);
        std::sort(due.begin(), due.end(),
                  [](const auto& a, const auto& b) { return a.put_offset < b.put_offset; });
        if (due.size() > static_cast<std::size_t>(max)) due.resize(static_cast<std::size_t>(max));
        for (const auto& pending : due) {
            append(notifications_, {.kind = Entry::Kind::tombstone,
                                    .uaid = pending.uaid,
                                    .name = name_of(pending.key.bytes)});
            if (roll(4) != 0) pending_tombstones_.erase(pending.key);  // else it is published twice
        }
        return !due.empty();
    }

    void commit() { store_.commit(); }

    void crash() {
        store_.reopen();
        next_notification_ = place_of(notifications_, Source::notifications);
        next_subscription_ = place_of(subscriptions_, Source::subscriptions);
        pending_tombstones_.clear();
        for (const auto& pending : part().pending_tombstones())
            pending_tombstones_.emplace(pending.key, pending);
    }
    std::size_t place_of(const Log& log, Source source) {
        const auto next = part().checkpoint(source).value_or(core::Checkpoint{}).next;
        const auto place =
            std::find_if(log.begin(), log.end(), [&](const Entry& e) { return e.offset >= next; });
        return static_cast<std::size_t>(place - log.begin());
    }

    EdgeFixture& store_;
    std::mt19937 random_;
    Log notifications_;
    Log subscriptions_;
    std::size_t next_notification_ = 0;
    std::size_t next_subscription_ = 0;
    std::map<core::MessageKey, PendingTombstone> pending_tombstones_;
    std::int64_t time_s_ = 0;
    int made_ = 0;
    int purged_ = 0;
    std::uint64_t seq_ = 0;
};

/// Keeps the last record of each key, and only some of the tombstones that cover nothing any more.
Log compacted(const Log& log, std::mt19937& random) {
    std::map<std::string, core::Offset> last;
    for (const auto& e : log) last[e.log_key()] = e.offset;
    Log kept;
    for (const auto& e : log) {
        if (last[e.log_key()] != e.offset) continue;
        if (e.removes() && random() % 2 == 0) continue;
        kept.push_back(e);
    }
    return kept;
}

/// Folds both logs in random turns, commits now and then, and crashes now and then.
void rebuild(EdgeFixture& store, const Log& notifications, const Log& subscriptions,
             std::mt19937& random, int crash_one_in) {
    REQUIRE(store.part().clear());
    const auto next_of = [&](const Log& log, Source source) {
        const auto next = store.part().checkpoint(source).value_or(core::Checkpoint{}).next;
        return std::find_if(log.begin(), log.end(),
                            [&](const Entry& e) { return e.offset >= next; });
    };
    for (;;) {
        const auto n = next_of(notifications, Source::notifications);
        const auto s = next_of(subscriptions, Source::subscriptions);
        if (n == notifications.end() && s == subscriptions.end()) break;
        const bool of_notifications =
            n != notifications.end() && (s == subscriptions.end() || random() % 2 == 0);
        auto it = of_notifications ? n : s;
        const auto end = of_notifications ? notifications.end() : subscriptions.end();
        const auto source = of_notifications ? Source::notifications : Source::subscriptions;
        for (auto many = random() % 20; it != end && many > 0; --many, ++it) {
            fold(store.part(), *it);
            store.part().advance(source, it->offset + 1, std::nullopt);
        }
        if (random() % 3 == 0) store.commit();
        if (crash_one_in > 0 && random() % static_cast<unsigned>(crash_one_in) == 0) {
            store.reopen();
        }
    }
    store.commit();
}

}  // namespace

TEST_CASE(
    "a replay of the log, whole or compacted, with crashes or without, gives the state of a "
    "home that has gone quiet",
    "[store]") {
    EdgeFixture live;
    EdgeFixture rebuilt;
    std::size_t states = 0;
    for (unsigned seed = 0; seed < 30; ++seed) {
        CAPTURE(seed);
        World world{live, seed};
        world.run(400);
        const auto expected = live.part().digest(world.now());
        std::mt19937 random{seed};
        const auto& n = world.notifications();
        const auto& s = world.subscriptions();

        rebuild(rebuilt, n, s, random, 0);
        CHECK(rebuilt.part().digest(world.now()) == expected);
        CHECK(rebuilt.part().pending_tombstones().empty());
        if (seed % 10 == 0) {
            rebuild(rebuilt, n, s, random, 20);
            CHECK(rebuilt.part().digest(world.now()) == expected);
        }
        rebuild(rebuilt, compacted(n, random), compacted(s, random), random, 0);
        CHECK(rebuilt.part().digest(world.now()) == expected);

        for (int u = 0; u < 6; ++u) {
            const auto uaid = uaid_of("u" + std::to_string(u));
            states += live.part().pending_count(uaid);
            live.uaid = rebuilt.uaid = uaid;
            const auto now_s = (world.now() - at(0)) / std::chrono::seconds{1};
            CHECK(live.drain(now_s) == rebuilt.drain(now_s));
        }
    }
    CHECK(states > 300);  // the worlds are not empty
}

// --- kill -9

namespace {

constexpr const char* kDirectoryVariable = "BECKON_STORE_TEST_DIRECTORY";
constexpr const char* kPipeVariable = "BECKON_STORE_TEST_PIPE";
constexpr core::Offset kRecords = 6'000;
/// What the process to be killed writes for each commit. The pipe holds some of these, so that it
/// is never far ahead of its killer.
constexpr std::size_t kReportBytes = 512;
constexpr int kPipeBytes = 4'096;

/// Record n of a fixed log: mostly puts, now and then the tombstone of an earlier one.
Entry record(core::Offset n) {
    Entry e{.offset = n, .time_s = n / 100};
    e.kind = n % 3 == 2 ? Entry::Kind::tombstone : Entry::Kind::put;
    const auto of = e.kind == Entry::Kind::put ? n : (n * 7919) % n;
    e.uaid = uaid_of("u" + std::to_string(of % 50));
    e.name = "m" + std::to_string(of);
    e.channel = "c1";
    e.ttl_s = of % 11 == 0 ? 0 : 86'400;
    if (of % 4 == 0) e.topic = "t" + std::to_string(of % 3);
    return e;
}

template <class After>
void fold_fixed_log(PartitionStore& part, After after_commit) {
    const auto from = part.checkpoint(Source::notifications).value_or(core::Checkpoint{}).next;
    for (core::Offset n = from; n < kRecords; ++n) {
        fold(part, record(n));
        part.advance(Source::notifications, n + 1, std::nullopt);
        if (n % 20 != 19) continue;
        if (!part.commit()) std::abort();
        after_commit();
    }
}

std::unique_ptr<EdgeStore> open_at(const std::filesystem::path& directory) {
    EdgeStoreOptions options;
    options.directory = directory;
    options.log_id = "log-1";
    auto opened = EdgeStore::open(options);
    if (!opened) throw std::runtime_error(opened.error().message);
    return std::move(*opened);
}

}  // namespace

TEST_CASE("(a process to be killed: folds and reports each commit)", "[.victim]") {
    const char* directory = std::getenv(kDirectoryVariable);
    const char* pipe_end = std::getenv(kPipeVariable);
    REQUIRE(directory);
    REQUIRE(pipe_end);
    const auto store = open_at(directory);
    const auto part = store->open_partition(0);
    const std::string report(kReportBytes, '.');
    fold_fixed_log(*part, [&] {
        static_cast<void>(!write(std::atoi(pipe_end), report.data(), report.size()));
    });
}

TEST_CASE("a process killed at any moment folds on to the same state", "[store]") {
    const beckon::test::TempDir dir;
    const auto killed = dir / "killed";
    const auto reference = open_at(dir / "reference");
    const auto expected_part = reference->open_partition(0);
    fold_fixed_log(*expected_part, [] {});
    REQUIRE(expected_part->commit());
    const auto expected = expected_part->digest(at(0));

    int survived_commits = 0;
    for (const int commits : {1, 7, 40, 60}) {
        int ends[2];
        REQUIRE(pipe(ends) == 0);
        REQUIRE(fcntl(ends[1], F_SETPIPE_SZ, kPipeBytes) == kPipeBytes);
        const pid_t child = fork();
        REQUIRE(child >= 0);
        if (child == 0) {
            close(ends[0]);
            setenv(kDirectoryVariable, killed.c_str(), 1);
            setenv(kPipeVariable, std::to_string(ends[1]).c_str(), 1);
            execl("/proc/self/exe", "store_test", "[.victim]", static_cast<char*>(nullptr));
            _exit(127);
        }
        close(ends[1]);
        std::array<char, kReportBytes> report{};
        for (int i = 0; i < commits; ++i, ++survived_commits) {
            REQUIRE(read(ends[0], report.data(), report.size()) ==
                    static_cast<ssize_t>(kReportBytes));
        }
        kill(child, SIGKILL);
        int status = 0;
        REQUIRE(waitpid(child, &status, 0) == child);
        close(ends[0]);

        const auto store = open_at(killed);
        const auto part = store->open_partition(0);
        const auto checkpoint = part->checkpoint(Source::notifications);
        REQUIRE(checkpoint);
        CHECK(checkpoint->next >= survived_commits * 20);  // what it reported is there
    }
    const auto store = open_at(killed);
    const auto part = store->open_partition(0);
    CHECK(part->checkpoint(Source::notifications)->next < kRecords);
    fold_fixed_log(*part, [] {});
    REQUIRE(part->commit());
    CHECK(part->digest(at(0)) == expected);
}

}  // namespace beckon::store
