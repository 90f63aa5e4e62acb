#pragma once

#include "core/result.hpp"
#include "retry/home/dead_index.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

/// The requests of callers about dead letters, and the replies. Pure.
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

/// One letter as the list has it.
nlohmann::json letter_json(const DeadLetter& letter);
/// One letter with its event and history.
std::string letter_page(const DeadLetter& letter, const Delivery& delivery);

}  // namespace beckon::retry
