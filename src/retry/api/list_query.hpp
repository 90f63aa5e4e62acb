#pragma once

#include "core/result.hpp"

#include <cstddef>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>

/// The queries of lists that come in pages. Pure.
namespace beckon::retry {

/// A list of webhooks, by id.
struct ListPage {
    static constexpr std::size_t kLimit = 100;
    static constexpr std::size_t kLimitMax = 250;

    std::string after{};  ///< the id of the last webhook of the page before; empty: the first page
    std::size_t limit = kLimit;
};
/// Parses a query string of `limit` and `after`. Errors: invalid (which parameter, and what is
/// allowed).
core::Result<ListPage> parse_list_page(std::string_view query);

/// The parameters of a query string. Errors: invalid (one of them is not known, or stands twice).
core::Result<std::map<std::string, std::string>> parse_parameters(
    std::string_view query, std::initializer_list<std::string_view> known);

/// A whole number from 1 to `most`. Errors: invalid, with the shown name.
core::Result<std::size_t> parse_limit(std::string_view text, std::string_view shown,
                                      std::size_t most);

}  // namespace beckon::retry
