#include "retry/home/dead/dead_index.hpp"

#include "core/decimal.hpp"
#include "core/json_parts.hpp"
#include "core/logger.hpp"
#include "records/dead_letter.hpp"
#include "records/events.hpp"

#include <algorithm>

namespace beckon::retry {

namespace {

std::string type_of(const Delivery& dead) {
    if (dead.place) return dead.place->type;
    return core::json_string_member(dead.event, "type").value_or("").substr(0, kEventTypeShown);
}

bool admits_type(std::string_view wanted, std::string_view type) {
    if (!wanted.ends_with('*')) return type == wanted.substr(0, kEventTypeShown);
    return type.starts_with(wanted.substr(0, wanted.size() - 1));
}

}  // namespace

std::string LetterPlace::text() const {
    return std::to_string(died.time_since_epoch().count()) + "." + std::to_string(partition) + "." +
           std::to_string(offset);
}

std::optional<LetterPlace> LetterPlace::parse(std::string_view text) {
    const auto first = text.find('.');
    const auto second = text.find('.', first + 1);
    if (second == std::string_view::npos) return std::nullopt;
    const auto died = core::parse_decimal<std::int64_t>(text.substr(0, first));
    const auto partition =
        core::parse_decimal<core::Partition>(text.substr(first + 1, second - first - 1));
    const auto offset = core::parse_decimal<core::Offset>(text.substr(second + 1));
    if (!died || !partition || !offset || *died < 0 || *partition < 0 || *offset < 0) {
        return std::nullopt;
    }
    return LetterPlace{core::Timestamp{std::chrono::milliseconds{*died}}, *partition, *offset};
}

bool DeadFilter::admits(const DeadLetter& letter) const {
    if (!webhook.empty() && letter.webhook != webhook) return false;
    if (!type.empty() && !admits_type(type, letter.type)) return false;
    if (why && letter.why != *why) return false;
    if (since && letter.place.died < *since) return false;
    if (before && letter.place.died >= *before) return false;
    return deliveries.empty() ||
           std::find(deliveries.begin(), deliveries.end(), letter.delivery) != deliveries.end();
}

void DeadIndex::apply(core::Partition partition, const core::RecordView& record) {
    if (core::is_control_key(record.key)) return;
    if (const auto settled = decode_settled(record)) {
        note_settled(settled->delivery, settled->hop);
        return erase(settled->delivery, settled->hop);
    }
    const auto dead = decode_delivery(record);
    if (dead) return put(partition, record, *dead);
    core::log_sparsely(core::LogLevel::error, "retry", "broken_dead_letter",
                       {{"partition", partition}, {"offset", record.offset}});
}

/// A copy of a dead letter, and an older one, change nothing.
void DeadIndex::put(core::Partition partition, const core::RecordView& record,
                    const Delivery& dead) {
    if (is_settled(dead.id, dead.hop)) return;
    if (const auto* known = find(dead.id)) {
        if (known->hop >= dead.hop) return;
        erase(dead.id, known->hop);
    }
    const LetterPlace place{record.time, partition, record.offset};
    places_[dead.id] = place;
    auto& letter = letters_[place];
    letter = {.place = place,
              .delivery = dead.id,
              .webhook = dead.webhook,
              .type = type_of(dead),
              .hop = dead.hop,
              .attempts = dead.attempts,
              .redriven = static_cast<std::uint32_t>(dead.history.size()),
              .why = dead.last.value_or(Outcome::undeliverable),
              .accepted = dead.accepted,
              .owner = owner_of(dead.webhook)};
    enter(letter);
    if (letters_.size() <= letters_max_) return;
    ++passed_over_;
    drop(DeadLetter{*by_owner_.at(holders_.largest()).begin()->second});
}

std::string DeadIndex::owner_of(const std::string& webhook) const {
    return owner_of_ ? owner_of_(webhook) : std::string{};
}

void DeadIndex::enter(const DeadLetter& letter) {
    by_owner_[letter.owner].emplace(letter.place, &letter);
    holders_.add(letter.owner);
    if (letter.owner.empty()) unknown_[letter.webhook].insert(letter.place);
}

void DeadIndex::leave(const DeadLetter& letter) {
    const auto of_owner = by_owner_.find(letter.owner);
    of_owner->second.erase(letter.place);
    holders_.remove(letter.owner);
    if (of_owner->second.empty()) by_owner_.erase(of_owner);
    if (!letter.owner.empty()) return;
    const auto of_webhook = unknown_.find(letter.webhook);
    of_webhook->second.erase(letter.place);
    if (of_webhook->second.empty()) unknown_.erase(of_webhook);
}

void DeadIndex::webhook_known(const std::string& webhook) {
    const auto found = unknown_.find(webhook);
    if (found == unknown_.end()) return;
    const auto owner = owner_of(webhook);
    if (owner.empty()) return;
    for (const auto& place : std::set<LetterPlace>{found->second}) {
        auto& letter = letters_.at(place);
        leave(letter);
        letter.owner = owner;
        enter(letter);
    }
}

void DeadIndex::erase(std::string_view delivery, std::uint32_t hop) {
    const auto* known = find(delivery);
    if (known && known->hop <= hop) drop(DeadLetter{*known});
}

void DeadIndex::forget(const DeadLetter& letter) {
    note_settled(letter.delivery, letter.hop);
    drop(letter);
}

void DeadIndex::drop(const DeadLetter& letter) {
    const auto known = letters_.find(letter.place);
    if (known == letters_.end()) return;
    leave(known->second);
    letters_.erase(known);
    const auto found = places_.find(letter.delivery);
    if (found != places_.end() && found->second == letter.place) places_.erase(found);
}

void DeadIndex::clear() {
    letters_.clear();
    places_.clear();
    by_owner_.clear();
    unknown_.clear();
    holders_ = {};
    passed_over_ = 0;
    settled_ = std::make_shared<Settlements>();
}

void DeadIndex::note_settled(std::string_view delivery, std::uint32_t hop) {
    if (passed_over_ == 0) return;
    const std::uint64_t key = std::hash<std::string_view>{}(delivery);
    if (settled_->size() >= kSettledMax && !settled_->contains(key)) return;
    auto& highest = (*settled_)[key];
    highest = std::max(highest, hop);
}

bool DeadIndex::is_settled(std::string_view delivery, std::uint32_t hop) const {
    const auto found = settled_->find(std::hash<std::string_view>{}(delivery));
    return found != settled_->end() && hop <= found->second;
}

DeadIndex DeadIndex::successor() const {
    DeadIndex next{letters_max_, owner_of_};
    next.settled_ = settled_;
    return next;
}

/// A letter that was settled after its fold had read it, and before its settlement is read.
void DeadIndex::succeed() {
    std::vector<DeadLetter> settled;
    for (const auto& [place, letter] : letters_) {
        if (is_settled(letter.delivery, letter.hop)) settled.push_back(letter);
    }
    for (const auto& letter : settled) drop(letter);
    if (passed_over_ == 0) settled_ = std::make_shared<Settlements>();
}

const DeadLetter* DeadIndex::find(std::string_view delivery) const {
    const auto found = places_.find(delivery);
    return found == places_.end() ? nullptr : &letters_.at(found->second);
}

void DeadIndex::each(const std::optional<LetterPlace>& after, const Visit& visit) const {
    auto at = after ? letters_.upper_bound(*after) : letters_.begin();
    while (at != letters_.end() && visit(at->second)) ++at;
}

void DeadIndex::each_of(const std::string& owner, const std::optional<LetterPlace>& after,
                        const Visit& visit) const {
    const auto found = by_owner_.find(owner);
    if (found == by_owner_.end()) return;
    const auto& letters = found->second;
    auto at = after ? letters.upper_bound(*after) : letters.begin();
    while (at != letters.end() && visit(*at->second)) ++at;
}

}  // namespace beckon::retry
