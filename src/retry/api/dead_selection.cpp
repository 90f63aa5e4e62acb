#include "retry/api/dead_selection.hpp"

#include <algorithm>
#include <set>

namespace beckon::retry {

namespace {

/// Before all letters that died then.
LetterPlace place_before(core::Timestamp died) { return {.died = died, .partition = -1}; }

/// Visits the letters that the caller may see, of the filter's time alone.
void each(const DeadIndex& index, const LetterRights& rights, const DeadFilter& filter,
          std::optional<LetterPlace> after, const DeadIndex::Visit& visit) {
    if (filter.since) after = std::max(after, std::optional{place_before(*filter.since)});
    const auto in_time = [&](const DeadLetter& letter) {
        return !(filter.before && letter.place.died >= *filter.before) && visit(letter);
    };
    rights.owner ? index.each_of(*rights.owner, after, in_time) : index.each(after, in_time);
}

}  // namespace

LetterList list_letters(const DeadIndex& index, const DeadPage& page, const LetterRights& rights) {
    LetterList list;
    bool more = false;
    each(index, rights, page.filter, page.after, [&](const DeadLetter& letter) {
        if (!page.filter.admits(letter) || !rights.state_of(letter)) return true;
        more = list.letters.size() == page.limit;
        if (!more) list.letters.push_back(&letter);
        return !more;
    });
    if (more) list.next = list.letters.back()->place;
    return list;
}

LetterSelection select_letters(const DeadIndex& index, const DeadOrder& order, Settlement how,
                               const LetterRights& rights) {
    LetterSelection all;
    const auto visit = [&](const DeadLetter& letter) {
        const auto* state = order.filter.admits(letter) ? rights.state_of(letter) : nullptr;
        if (!state) return true;
        ++all.matched;
        if (how == Settlement::redriven && !state->enabled) {
            ++all.disabled;
        } else if (all.letters.size() < order.limit) {
            all.letters.push_back(letter);
        }
        return true;
    };
    if (order.filter.deliveries.empty()) {
        each(index, rights, order.filter, std::nullopt, visit);
        return all;
    }
    const std::set<std::string> ids{order.filter.deliveries.begin(), order.filter.deliveries.end()};
    for (const auto& id : ids) {
        if (const auto* letter = index.find(id)) visit(*letter);
    }
    return all;
}

}  // namespace beckon::retry
