#pragma once

#include "records/dead_letter.hpp"
#include "retry/api/dead_query.hpp"
#include "retry/home/dead_index.hpp"
#include "retry/webhook/webhook.hpp"

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

/// Selects the dead letters of a list, a redrive or a drop. Pure.
namespace beckon::retry {

/// The letters that a caller may see.
struct LetterRights {
    std::optional<std::string> owner;  ///< of this owner alone; nullopt: of all owners
    /// The state of the letter's webhook; null: the caller may not see the letter.
    std::function<const WebhookState*(const DeadLetter&)> state_of;
};

struct LetterList {
    std::vector<const DeadLetter*> letters;
    std::optional<LetterPlace> next;  ///< behind the last one, if there are more
};
LetterList list_letters(const DeadIndex& index, const DeadPage& page, const LetterRights& rights);

struct LetterSelection {
    std::vector<DeadLetter> letters;
    std::size_t matched = 0;
    /// Letters of disabled webhooks among the matched ones: redriven, they would die again at once,
    /// so a redrive leaves them alone.
    std::size_t disabled = 0;
};
LetterSelection select_letters(const DeadIndex& index, const DeadOrder& order, Settlement how,
                               const LetterRights& rights);

}  // namespace beckon::retry
