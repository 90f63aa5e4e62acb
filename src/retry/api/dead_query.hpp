#pragma once

#include "core/result.hpp"
#include "retry/dead/dead_index.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

/// The requests of callers about dead letters, and the replies. Pure.
namespace beckon::retry {

/// A page of the list.
struct DeadPage {
    DeadFilter filter;
    std::optional<LetterPlace> after;
    std::size_t limit = 0;
};
/// Parses a query string. Errors: invalid (which parameter, and what is allowed).
core::Result<DeadPage> parse_dead_page(std::string_view query);

/// An order to redrive or drop dead letters.
struct DeadOrder {
    DeadFilter filter;
    std::size_t limit = 0;
    bool dry_run = true;  ///< so that a mistake redrives and drops nothing
};
/// Parses a body. Errors: invalid, with the JSON path of the fault.
core::Result<DeadOrder> parse_dead_order(std::string_view body);

/// The numbers of letters that a page does not list.
struct LetterCounts {
    std::uint64_t passed_over = 0;   ///< older ones, which are too many to be listed
    std::optional<std::size_t> all;  ///< of all owners, for an operator
};
/// `{"letters": […], "next": …, "passed_over": …, "all": …}`; the last for an operator only.
std::string letters_page(const std::vector<const DeadLetter*>& letters,
                         const std::optional<LetterPlace>& next, const LetterCounts& counts);
/// One letter as the list has it.
std::string letter_json(const DeadLetter& letter);
/// One letter with its event and history.
std::string letter_page(const DeadLetter& letter, const Delivery& delivery);

}  // namespace beckon::retry
