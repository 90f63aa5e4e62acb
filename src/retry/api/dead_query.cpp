#include "retry/api/dead_query.hpp"

#include "core/enum_names.hpp"
#include "core/json_parts.hpp"
#include "core/json_text.hpp"
#include "core/time_text.hpp"
#include "net/http/http_message.hpp"
#include "retry/api/dead_api.hpp"
#include "retry/api/list_query.hpp"
#include "retry/filter/date.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include <nlohmann/json.hpp>

namespace beckon::retry {

using core::Fault;
using Json = nlohmann::json;
using Text = const std::string&;

namespace {

/// The reasons of dead letters, as a list for people.
std::string reasons() {
    std::string list;
    for (const auto outcome : core::kValuesOf<Outcome>) {
        if (outcome == Outcome::delivered) continue;
        if (!list.empty()) list += ", ";
        list += to_string(outcome);
    }
    return list;
}

auto invalid_query(Text what) { return core::fail(Fault::invalid, what); }

core::Result<core::Timestamp> parse_time(Text text, Text name) {
    const auto time = parse_date(text);
    if (!time)
        return invalid_query(name + " must be a date, e.g. 2026-11-20 or 2026-11-20T08:30:00Z");
    return *time;
}

/// The fields of a filter, named as the query string and the body have them.
bool is_filter_field(std::string_view name) {
    constexpr std::array<std::string_view, 5> kFields{"webhook", "type", "reason", "since",
                                                      "before"};
    return std::find(kFields.begin(), kFields.end(), name) != kFields.end();
}

core::Result<void> set_filter_field(DeadFilter& filter, Text name, Text value, Text shown) {
    if ((name == "webhook" || name == "type") && value.empty()) {
        return invalid_query(shown + " must not be empty");
    }
    if (name == "webhook") {
        filter.webhook = value;
    } else if (name == "type") {
        filter.type = value;
    } else if (name == "reason") {
        filter.why = parse_outcome(value);
        if (!filter.why || *filter.why == Outcome::delivered) {
            return invalid_query(shown + " must be one of " + reasons());
        }
    } else {
        const auto time = parse_time(value, shown);
        if (!time) return core::fail(time.error());
        (name == "since" ? filter.since : filter.before) = *time;
    }
    return {};
}

core::Result<void> set_ids(DeadFilter& filter, const Json& ids) {
    const bool fits = ids.is_array() && !ids.empty() && ids.size() <= DeadApi::kIdsMax &&
                      std::all_of(ids.begin(), ids.end(), [](const auto& id) {
                          return id.is_string() && !id.template get<std::string>().empty();
                      });
    if (!fits) {
        return invalid_query("$.ids must be a list of 1 to " + std::to_string(DeadApi::kIdsMax) +
                             " ids of deliveries");
    }
    filter.deliveries = ids.get<std::vector<std::string>>();
    return {};
}

core::Result<void> set_member(DeadOrder& order, Text name, const Json& value) {
    const auto path = "$." + name;
    if (name == "ids") return set_ids(order.filter, value);
    if (name == "dry_run") {
        if (!value.is_boolean()) return invalid_query(path + " must be true or false");
        order.dry_run = value.get<bool>();
        return {};
    }
    if (name == "limit") {
        const auto limit = parse_limit(value.is_number_integer() ? core::json_text(value) : "",
                                       path, DeadApi::kPageMax);
        if (!limit) return core::fail(limit.error());
        order.limit = *limit;
        return {};
    }
    if (!is_filter_field(name)) {
        return invalid_query(path +
                             " is no field; there are webhook, type, reason, since, before, ids, "
                             "limit and dry_run");
    }
    if (!value.is_string()) return invalid_query(path + " must be a string");
    return set_filter_field(order.filter, name, value.get<std::string>(), path);
}

core::Result<void> set_parameter(DeadPage& page, Text name, Text value) {
    const auto shown = "the parameter " + name;
    if (name == "limit") {
        const auto limit = parse_limit(value, shown, DeadApi::kPageMax);
        if (!limit) return core::fail(limit.error());
        page.limit = *limit;
        return {};
    }
    if (name == "after") {
        page.after = LetterPlace::parse(value);
        if (!page.after) return invalid_query(shown + " must be the value of `next` of a reply");
        return {};
    }
    if (!is_filter_field(name)) {
        return invalid_query(shown +
                             " is unknown; there are webhook, type, reason, since, before, limit "
                             "and after");
    }
    return set_filter_field(page.filter, name, value, shown);
}

Json json_of(const DeadLetter& letter) {
    return {{"delivery", letter.delivery},
            {"webhook", letter.webhook},
            {"owner", letter.owner},
            {"type", letter.type},
            {"reason", to_string(letter.why)},
            {"attempts", letter.attempts},
            {"accepted", core::time_text(letter.accepted)},
            {"died", core::time_text(letter.place.died)},
            {"redriven", letter.redriven}};
}

}  // namespace

core::Result<DeadPage> parse_dead_page(std::string_view query) {
    DeadPage page{.filter = {}, .after = {}, .limit = DeadApi::kPage};
    std::set<std::string> names;
    for (const auto& [name, value] : net::parse_query(query)) {
        if (!names.insert(name).second) {
            return invalid_query("the parameter " + name + " stands twice");
        }
        if (const auto set = set_parameter(page, name, value); !set) {
            return core::fail(set.error());
        }
    }
    return page;
}

core::Result<DeadOrder> parse_dead_order(std::string_view body) {
    const auto json = body.empty() ? Json::object() : core::parse_json(body);
    if (!json.is_object()) return invalid_query("$ must be an object");
    DeadOrder order{.filter = {}, .limit = DeadApi::kPageMax, .dry_run = true};
    for (const auto& [name, value] : json.items()) {
        if (const auto set = set_member(order, name, value); !set) return core::fail(set.error());
    }
    return order;
}

std::string letters_page(const std::vector<const DeadLetter*>& letters,
                         const std::optional<LetterPlace>& next, const LetterCounts& counts) {
    Json list = Json::array();
    for (const auto* letter : letters) list.push_back(json_of(*letter));
    Json page{{"letters", std::move(list)},
              {"next", next ? Json(next->text()) : Json()},
              {"passed_over", counts.passed_over}};
    if (counts.all) page["all"] = *counts.all;
    return core::json_text(page);
}

std::string letter_json(const DeadLetter& letter) { return core::json_text(json_of(letter)); }

std::string letter_page(const DeadLetter& letter, const Delivery& delivery) {
    auto page = json_of(letter);
    page["history"] = Json::array();
    for (const auto& one : delivery.history) {
        page["history"].push_back({{"died", core::time_text(one.at)},
                                   {"reason", to_string(one.why)},
                                   {"attempts", one.attempts}});
    }
    if (delivery.place && delivery.event.empty()) {
        page["event"] = nullptr;
        page["why_no_event"] = "the event is no longer in the log";
        return core::json_text(page);
    }
    const auto event = core::json_value(delivery.event);  // as it was posted
    return core::with_json_member(core::json_text(page), "event",
                                  event ? *event : core::json_string(delivery.event));
}

}  // namespace beckon::retry
