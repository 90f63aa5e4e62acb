#pragma once

#include "records/dead_letter.hpp"
#include "retry/api/dead_query.hpp"
#include "retry/dead/dead_index.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

/// Selects the dead letters of a list, a redrive or a drop. Pure.
namespace beckon::retry {

/// The caller's rights to a letter.
enum class LetterStanding : std::uint8_t {
    hidden,    ///< it is not the caller's
    disabled,  ///< its webhook is disabled: redriven, it would die again at once
    enabled,
};
/// The letters that a caller may see.
struct LetterRights {
    std::optional<std::string> owner;  ///< of this owner alone; nullopt: of all owners
    std::function<LetterStanding(const DeadLetter&)> standing;
};

struct LetterList {
    std::vector<const DeadLetter*> letters;
    std::optional<LetterPlace> next;  ///< behind the last one, if there are more
};
LetterList list_letters(const DeadIndex& index, const DeadPage& page, const LetterRights& rights);

struct LetterSelection {
    std::vector<DeadLetter> letters;
    std::size_t matched = 0;
    std::size_t disabled = 0;  ///< of the matched ones: a redrive leaves them alone
};
LetterSelection select_letters(const DeadIndex& index, const DeadOrder& order, Settlement how,
                               const LetterRights& rights);

}  // namespace beckon::retry
