#include "retry/api/dead_selection.hpp"

#include <set>
#include <string>

namespace beckon::retry {

namespace {

void take(LetterSelection& all, const DeadLetter& letter, std::size_t limit, bool can_be_settled) {
    ++all.matched;
    if (!can_be_settled) {
        ++all.disabled;
    } else if (all.letters.size() < limit) {
        all.letters.push_back(letter);
    }
}

}  // namespace

LetterList list_letters(const DeadIndex& index, const DeadPage& page, const StandingOf& standing) {
    LetterList list;
    bool more = false;
    index.each(page.after, [&](const DeadLetter& letter) {
        if (!page.filter.admits(letter) || standing(letter) == LetterStanding::hidden) return true;
        more = list.letters.size() == page.limit;
        if (!more) list.letters.push_back(&letter);
        return !more;
    });
    if (more) list.next = list.letters.back()->place;
    return list;
}

LetterSelection select_letters(const DeadIndex& index, const DeadOrder& order, Settlement how,
                               const StandingOf& standing) {
    LetterSelection all;
    const auto visit = [&](const DeadLetter& letter) {
        if (!order.filter.admits(letter)) return true;
        const auto of = standing(letter);
        if (of == LetterStanding::hidden) return true;
        take(all, letter, order.limit, how == Settlement::dropped || of == LetterStanding::enabled);
        return true;
    };
    if (order.filter.deliveries.empty()) {
        index.each(std::nullopt, visit);
        return all;
    }
    const std::set<std::string> ids{order.filter.deliveries.begin(), order.filter.deliveries.end()};
    for (const auto& id : ids) {
        if (const auto* letter = index.find(id)) visit(*letter);
    }
    return all;
}

}  // namespace beckon::retry
