#include "store/edge_fixture.hpp"
#include "store/edge_store.hpp"
#include "store/rows/schema.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

using namespace beckon;
using namespace beckon::store;

using namespace beckon::store::test;

namespace {

/// The rules of a partition of `notifications` over plain maps, to hold the store against.
class Model {
public:
    struct Pending {
        core::Uaid uaid;
        core::Offset offset = 0;
        core::Timestamp expiry{};
        std::string slot;  ///< channel and Topic; empty without a Topic
        Month month = 0;   ///< that it is dropped with
    };
    struct Finished {
        core::FinishReason reason = core::FinishReason::acked;
        core::Offset offset = 0;
    };

    PutOutcome put(core::Offset offset, core::Timestamp appended,
                   const core::NotificationAccepted& m, std::string& replaced) {
        replaced.clear();
        postponed_.erase(m.key);
        if (const auto pending_tombstones = pending_tombstones_.find(m.key);
            pending_tombstones != pending_tombstones_.end()) {
            if (offset <= pending_tombstones->second.offset) return PutOutcome::repeated;
            pending_tombstones->second = {core::FinishReason::dropped, offset};
            return PutOutcome::finished;
        }
        if (pending_.contains(m.key)) return PutOutcome::repeated;
        if (const auto seen = tombstones_.find(m.key); seen != tombstones_.end()) {
            const bool remembered = appended < seen->second + std::chrono::minutes{10};
            tombstones_.erase(seen);
            if (remembered) {
                pending_tombstones_[m.key] = {core::FinishReason::dropped, offset};
                return PutOutcome::finished;
            }
        }
        const auto expiry = appended + std::chrono::seconds{m.ttl_s};
        Pending fresh{m.uaid, offset, expiry, m.topic ? slot_of(m) : "",
                      std::max(month_of(expiry), oldest_)};
        for (auto it = pending_.begin(); it != pending_.end(); ++it) {
            const auto& [key, old] = *it;
            if (fresh.slot.empty() || old.uaid != m.uaid || old.slot != fresh.slot) continue;
            replaced = name_of(key.bytes);
            if (appended < old.expiry) {
                pending_tombstones_[key] = {core::FinishReason::replaced, old.offset};
            }
            pending_.erase(it);
            break;
        }
        if (m.ttl_s == 0) {
            pending_tombstones_[m.key] = {core::FinishReason::expired, offset};
            return PutOutcome::ttl_zero;
        }
        pending_[m.key] = fresh;
        return PutOutcome::pending;
    }

    bool finish(const core::Uaid& uaid, const core::MessageKey& key, core::Timestamp time) {
        postponed_.erase(key);
        if (pending_tombstones_.erase(key) > 0) return true;
        const auto known = pending_.find(key);
        if (known != pending_.end() && known->second.uaid == uaid) {
            pending_.erase(known);
            return true;
        }
        tombstones_[key] = time;
        return false;
    }

    bool add_tombstone(const core::Uaid& uaid, const core::MessageKey& key,
                       core::FinishReason reason) {
        const auto known = pending_.find(key);
        if (known == pending_.end() || known->second.uaid != uaid) return false;
        pending_tombstones_[key] = {reason, known->second.offset};
        pending_.erase(known);
        return true;
    }

    /// `on_disk`: as the last commit left it. A message that it has, and that has no Topic, stays
    /// there until its tombstone is folded.
    bool add_acked_tombstone(const core::Uaid& uaid, const core::MessageKey& key,
                             const Model& on_disk) {
        const auto known = pending_.find(key);
        if (known == pending_.end() || known->second.uaid != uaid) return false;
        const bool stays = known->second.slot.empty() && on_disk.pending_.contains(key);
        if (stays) postponed_[key] = {known->second, false};
        return add_tombstone(uaid, key, core::FinishReason::acked);
    }
    void write_postponed(bool all) {
        for (auto it = postponed_.begin(); it != postponed_.end();) {
            const bool goes = std::exchange(it->second.seen, true) || all;
            it = goes ? postponed_.erase(it) : std::next(it);
        }
    }
    /// The state that a commit writes.
    Model committed() const {
        Model out = *this;
        for (const auto& [key, postponed] : postponed_) {
            out.pending_tombstones_.erase(key);
            out.pending_[key] = postponed.message;
        }
        out.postponed_.clear();
        return out;
    }

    std::string drain(const core::Uaid& uaid, core::Timestamp now) {
        std::vector<std::tuple<bool, core::Offset, std::string>> found;
        std::vector<core::MessageKey> expired;
        for (const auto& [key, m] : pending_) {
            if (m.uaid != uaid || m.month < oldest_) continue;
            if (now >= m.expiry) {
                expired.push_back(key);
            } else {
                found.emplace_back(m.slot.empty(), m.offset, name_of(key.bytes));
            }
        }
        for (const auto& key : expired) add_tombstone(uaid, key, core::FinishReason::expired);
        std::sort(found.begin(), found.end());
        std::string text;
        for (const auto& [order, offset, name] : found) text += (text.empty() ? "" : " ") + name;
        return text;
    }

    std::string pending_tombstones() const {
        std::vector<std::pair<core::Offset, std::string>> found;
        for (const auto& [key, pending_tombstones] : pending_tombstones_) {
            found.emplace_back(
                pending_tombstones.offset,
                name_of(key.bytes) + ":" + std::string{core::to_string(pending_tombstones.reason)});
        }
        std::sort(found.begin(), found.end());
        std::string text;
        for (const auto& [offset, name] : found) text += (text.empty() ? "" : " ") + name;
        return text;
    }

    bool has_pending_tombstone(std::string_view name) const {
        return pending_tombstones_.contains(key_of(name));
    }

    std::size_t count(const core::Uaid& uaid) const {
        return static_cast<std::size_t>(
            std::count_if(pending_.begin(), pending_.end(), [&](const auto& entry) {
                return entry.second.uaid == uaid && entry.second.month >= oldest_;
            }));
    }

    void drop_months_before(core::Timestamp now) {
        oldest_ = std::max(oldest_, month_of(now - std::chrono::hours{1}));
    }

private:
    static std::string slot_of(const core::NotificationAccepted& m) {
        return name_of(m.channel.bytes) + "/" + std::string{*m.topic};
    }

    std::map<core::MessageKey, Pending> pending_;
    std::map<core::MessageKey, Finished> pending_tombstones_;
    struct Postponed {
        Pending message;
        bool seen = false;
    };
    std::map<core::MessageKey, Postponed> postponed_;
    std::map<core::MessageKey, core::Timestamp> tombstones_;  ///< seen before their puts
    Month oldest_ = 0;
};

}  // namespace

TEST_CASE(
    "any interleaving of puts, acks, tombstones, drains, months and crashes agrees with "
    "plain maps") {
    const auto seed = GENERATE(range(0u, 30u));
    CAPTURE(seed);
    // Crashes in one half of the runs, jumps of the clock in the other: after both, compaction may
    // have removed messages that expired long ago, which plain maps cannot know.
    const bool crashes = seed % 2 == 0;
    std::mt19937 random{seed};
    const auto roll = [&](int below) {
        return std::uniform_int_distribution<int>{0, below - 1}(random);
    };
    EdgeFixture f;
    Model now_model;
    Model committed_model;
    core::Offset offset = 0;
    core::Offset committed_offset = 0;
    std::int64_t time = 0;
    std::int64_t committed_time = 0;
    int made = 0;
    std::set<std::string> known_in_memory;  // that they are finished: a crash forgets it
    const std::vector<core::Uaid> clients{uaid_of("u1"), uaid_of("u2"), uaid_of("u3")};
    const std::vector<std::uint32_t> ttls{0, 5, 60, 3600, 3600, 86'400, 40 * 86'400};
    const std::vector<std::optional<std::string_view>> topics{std::nullopt, std::nullopt, "t1",
                                                              "t2"};
    // A key belongs to one client, as in the log.
    const auto use = [&](int number) {
        f.uaid = clients[static_cast<std::size_t>(number % 3)];
        return "m" + std::to_string(number);
    };
    const auto a_key = [&] { return use(roll(made + 3)); };

    for (int step = 0; step < 300; ++step) {
        CAPTURE(step);
        f.uaid = clients[static_cast<std::size_t>(roll(3))];
        time += roll(3) == 0 ? roll(30) : 0;
        if (!crashes && roll(100) == 0) time += 86'400 * 12;
        const int what = roll(100);
        if (what < 45) {
            // Mostly a new key; now and then one that is known: pending, finished, or a
            // tombstone's.
            const auto name = roll(10) == 0 ? a_key() : use(made++);
            if (known_in_memory.contains(name)) continue;
            const auto event = accepted(f.uaid, name,
                                        {.ttl_s = ttls[static_cast<std::size_t>(roll(7))],
                                         .channel = roll(2) == 0 ? "c1" : "c2",
                                         .topic = topics[static_cast<std::size_t>(roll(4))]});
            std::string replaced;
            std::optional<core::MessageKey> store_replaced;
            const auto outcome = f.part().put(offset, at(time), event, &store_replaced);
            CHECK(outcome == now_model.put(offset, at(time), event, replaced));
            CHECK((store_replaced ? name_of(store_replaced->bytes) : "") == replaced);
            if (!replaced.empty() && !now_model.has_pending_tombstone(replaced))
                known_in_memory.insert(replaced);
            ++offset;
        } else if (what < 65) {
            const auto name = a_key();
            if (roll(2) == 0) {
                CHECK(f.add_tombstone(name) ==
                      now_model.add_tombstone(f.uaid, key_of(name), core::FinishReason::acked));
            } else {
                CHECK(f.add_acked_tombstone(name) ==
                      now_model.add_acked_tombstone(f.uaid, key_of(name), committed_model));
            }
        } else if (what < 80) {
            const auto name = a_key();
            if (known_in_memory.contains(name)) continue;
            const bool known = f.finish(name, time);
            CHECK(known == now_model.finish(f.uaid, key_of(name), at(time)));
            if (known) known_in_memory.insert(name);
            ++offset;
        } else if (what < 90) {
            CHECK(f.drain(time, static_cast<std::size_t>(1 + roll(4))) ==
                  now_model.drain(f.uaid, at(time)));
            CHECK(f.part().pending_count(f.uaid) == now_model.count(f.uaid));
        } else if (what < 96) {
            f.part().advance(Source::notifications, offset, std::nullopt);
            f.commit();
            committed_model = now_model.committed();
            committed_offset = offset;
            committed_time = time;
        } else if (what == 96) {
            const bool all = roll(2) == 0;
            f.part().write_postponed(all);
            now_model.write_postponed(all);
        } else if (what < 98) {
            f.store().drop_past_months(at(time), at(time));
            now_model.drop_months_before(at(time));
            committed_model.drop_months_before(at(time));  // that is on disk at once
        } else if (crashes) {
            f.reopen();
            now_model = committed_model;
            offset = committed_offset;
            time = committed_time;
        }
        CHECK(f.pending_tombstones() == now_model.pending_tombstones());
    }
}
