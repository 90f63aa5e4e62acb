#pragma once

#include "core/result.hpp"
#include "records/dead_letter.hpp"
#include "retry/home/dead/dead_index.hpp"
#include "retry/webhook/webhook.hpp"

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

/// The requests of callers about dead letters, which letters they select, and the replies. Pure.
namespace beckon::retry {

/// A page of the list.
struct DeadPage {
    DeadFilter filter{};
    std::optional<LetterPlace> after{};
    std::size_t limit = 100;
};
/// Parses a query string. Errors: invalid (which parameter, and what is allowed).
core::Result<DeadPage> parse_dead_page(std::string_view query);

inline constexpr std::size_t kDeadLettersMax = 1'000;  ///< of a page, an order, and its ids

/// An order to redrive or drop dead letters.
struct DeadOrder {
    DeadFilter filter{};
    std::size_t limit = kDeadLettersMax;
    bool dry_run = true;  ///< so that a mistake redrives and drops nothing
};
/// Parses a body. Errors: invalid, with the JSON path of the fault.
core::Result<DeadOrder> parse_dead_order(std::string_view body);

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

/// One letter as the list has it.
nlohmann::json letter_json(const DeadLetter& letter);
/// One letter with its event and history.
std::string letter_page(const DeadLetter& letter, const Delivery& delivery);

}  // namespace beckon::retry
