#include "retry/api/list_query.hpp"

#include "core/decimal.hpp"
#include "net/http/http_message.hpp"

#include <algorithm>

namespace beckon::retry {

using core::Fault;

core::Result<std::size_t> parse_limit(std::string_view text, std::string_view shown,
                                      std::size_t most) {
    const auto limit = core::parse_decimal<std::size_t>(text);
    if (limit && *limit > 0 && *limit <= most) return *limit;
    return core::fail(Fault::invalid, std::string{shown} + " must be a whole number from 1 to " +
                                          std::to_string(most));
}

core::Result<std::map<std::string, std::string>> parse_parameters(
    std::string_view query, std::initializer_list<std::string_view> known) {
    std::map<std::string, std::string> parameters;
    for (auto& [name, value] : net::parse_query(query)) {
        const auto shown = "the parameter " + name;
        if (std::find(known.begin(), known.end(), name) == known.end()) {
            std::string names;
            for (const auto one : known) names.append(names.empty() ? "" : ", ").append(one);
            return core::fail(Fault::invalid, shown + " is unknown; there are " + names);
        }
        if (!parameters.emplace(name, std::move(value)).second) {
            return core::fail(Fault::invalid, shown + " stands twice");
        }
    }
    return parameters;
}

core::Result<ListPage> parse_list_page(std::string_view query) {
    auto parameters = parse_parameters(query, {"limit", "after"});
    if (!parameters) return core::fail(parameters.error());
    ListPage page{.after = (*parameters)["after"]};
    if (!parameters->contains("limit")) return page;
    const auto limit =
        parse_limit(parameters->at("limit"), "the parameter limit", ListPage::kLimitMax);
    if (!limit) return core::fail(limit.error());
    page.limit = *limit;
    return page;
}

}  // namespace beckon::retry
