#include "retry/api/list_query.hpp"

#include "net/http/http_message.hpp"

#include <charconv>
#include <set>
#include <utility>

namespace beckon::retry {

using core::Fault;

core::Result<std::size_t> parse_limit(std::string_view text, std::string_view shown,
                                      std::size_t most) {
    std::size_t limit = 0;
    const auto* const end = text.data() + text.size();
    const auto [stopped, fault] = std::from_chars(text.data(), end, limit);
    if (fault != std::errc{} || stopped != end || limit == 0 || limit > most) {
        return core::fail(
            Fault::invalid,
            std::string{shown} + " must be a whole number from 1 to " + std::to_string(most));
    }
    return limit;
}

core::Result<ListPage> parse_list_page(std::string_view query) {
    ListPage page;
    std::set<std::string> names;
    for (auto& [name, value] : net::parse_query(query)) {
        const auto shown = "the parameter " + name;
        if (!names.insert(name).second) return core::fail(Fault::invalid, shown + " stands twice");
        if (name == "limit") {
            const auto limit = parse_limit(value, shown, ListPage::kLimitMax);
            if (!limit) return core::fail(limit.error());
            page.limit = *limit;
        } else if (name == "after") {
            page.after = std::move(value);
        } else {
            return core::fail(Fault::invalid, shown + " is unknown; there are limit and after");
        }
    }
    return page;
}

}  // namespace beckon::retry
