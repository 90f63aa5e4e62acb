#pragma once

#include "core/clock.hpp"
#include "core/ids.hpp"
#include "core/largest_holder.hpp"
#include "core/partition.hpp"
#include "core/record.hpp"
#include "records/delivery.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace beckon::retry {

/// Where a dead letter stands: the order in which they are shown, the oldest first.
struct LetterPlace {
    core::Timestamp died{};
    core::Partition partition = 0;
    core::Offset offset = 0;
    auto operator<=>(const LetterPlace&) const = default;

    /// As the API's `after` and `next` have it.
    std::string text() const;
    static std::optional<LetterPlace> parse(std::string_view text);
};

/// A dead letter without its event, which stays in the log.
struct DeadLetter {
    LetterPlace place;
    std::string delivery;
    std::string webhook;
    std::string type;  ///< of the event, its first kEventTypeShown bytes
    std::uint32_t hop = 0;
    std::uint32_t attempts = 0;
    std::uint32_t redriven = 0;  ///< how often before
    Outcome why = Outcome::undeliverable;
    core::Timestamp accepted{};
    std::string owner{};  ///< of the webhook; empty: the webhook has not been known yet
    bool operator==(const DeadLetter&) const = default;
};

/// Selects dead letters; an absent field selects all.
struct DeadFilter {
    std::string webhook{};
    std::string type{};  ///< `order.*` for all that begin so
    std::optional<Outcome> why{};
    std::optional<core::Timestamp> since{};   ///< died then or later
    std::optional<core::Timestamp> before{};  ///< died before
    std::vector<std::string> deliveries{};    ///< one of these
    bool admits(const DeadLetter& letter) const;
};

/// The fold of `retry.dead`: the deliveries that were given up and neither redriven nor dropped.
/// Folding a record twice changes nothing. Bounded: of more than kLettersMax the oldest of the
/// owner that has most of them are no longer known here, but counted; a successor that folds the
/// topic from its start knows them once there is space. One thread.
class DeadIndex {
public:
    static constexpr std::size_t kLettersMax = 50'000;
    /// So many settled letters are remembered for a successor, some 50 bytes each.
    static constexpr std::size_t kSettledMax = 500'000;

    /// The owner of a webhook; empty if it is not known.
    using OwnerOf = std::function<std::string(const std::string& webhook)>;

    explicit DeadIndex(std::size_t letters_max = kLettersMax, OwnerOf owner_of = {})
        : letters_max_(letters_max), owner_of_(std::move(owner_of)) {}

    void apply(core::Partition partition, const core::RecordView& record);
    /// The webhook's owner is known from now on: a letter may be read before its webhook.
    void webhook_known(const std::string& webhook);
    /// It fell off the log.
    void forget(const DeadLetter& letter);
    /// All records are read again.
    void clear();

    using Visit = std::function<bool(const DeadLetter&)>;

    const DeadLetter* find(std::string_view delivery) const;
    /// All after `after`, in order, until `visit` returns false.
    void each(const std::optional<LetterPlace>& after, const Visit& visit) const;
    /// Likewise those of one owner; the cost follows from them, not from those of other owners.
    void each_of(const std::string& owner, const std::optional<LetterPlace>& after,
                 const Visit& visit) const;
    std::size_t size() const { return letters_.size(); }
    /// When the newest one died, by the log's time; nullopt: there are none.
    std::optional<core::Timestamp> newest() const {
        return letters_.empty() ? std::nullopt : std::optional{letters_.rbegin()->first.died};
    }
    /// How many were too many to be known.
    std::uint64_t passed_over() const { return passed_over_; }
    /// Letters were passed over, and now there is space for them.
    bool has_space_again() const { return passed_over_ > 0 && size() < letters_max_ / 2; }
    /// An empty index for another fold of the topic, from its start. It leaves out the letters that
    /// this one has seen settled: they would take the space of others until the fold comes to their
    /// settlements, which stand behind all of them.
    DeadIndex successor() const;
    /// Takes the place of the index that made it, when its fold has come as far.
    void succeed();

private:
    using ByPlace = std::map<LetterPlace, const DeadLetter*>;
    void put(core::Partition partition, const core::RecordView& record, const Delivery& dead);
    /// The settled letters: the hash of the delivery's id, and the highest hop.
    using Settlements = std::unordered_map<std::uint64_t, std::uint32_t>;
    void erase(std::string_view delivery, std::uint32_t hop);
    void drop(const DeadLetter& letter);
    void note_settled(std::string_view delivery, std::uint32_t hop);
    bool is_settled(std::string_view delivery, std::uint32_t hop) const;
    std::string owner_of(const std::string& webhook) const;
    void enter(const DeadLetter& letter);
    void leave(const DeadLetter& letter);

    std::size_t letters_max_;
    OwnerOf owner_of_;
    std::map<LetterPlace, DeadLetter> letters_;
    std::map<std::string, LetterPlace, std::less<>> places_;  ///< by delivery
    std::map<std::string, ByPlace> by_owner_;
    std::map<std::string, std::set<LetterPlace>> unknown_;  ///< without an owner, by webhook
    core::LargestHolder<std::string> holders_;
    std::uint64_t passed_over_ = 0;
    /// Kept while letters are passed over; an index and its successor share it.
    std::shared_ptr<Settlements> settled_ = std::make_shared<Settlements>();
};

}  // namespace beckon::retry
