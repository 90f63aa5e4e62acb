#include "retry/api/dead_query.hpp"

#include "core/enum_names.hpp"
#include "core/json_parts.hpp"
#include "core/json_text.hpp"
#include "core/time_text.hpp"
#include "retry/api/list_query.hpp"
#include "retry/event/filter/date.hpp"

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

using Checked = core::Result<void>;
auto invalid_query(Text what) { return core::fail(Fault::invalid, what); }

/// Sets a field that a query string and a body may have. `shown`: its name in the error.
Checked set_field(DeadFilter& filter, std::size_t& limit, Text name, Text value, Text shown) {
    if (name == "limit") {
        const auto given = parse_limit(value, shown, kDeadLettersMax);
        if (!given) return core::fail(given.error());
        limit = *given;
    } else if (name == "reason") {
        filter.why = parse_outcome(value);
        if (!filter.why || *filter.why == Outcome::delivered) {
            return invalid_query(shown + " must be one of " + reasons());
        }
    } else if (name == "since" || name == "before") {
        const auto time = parse_date(value);
        if (!time) {
            return invalid_query(shown +
                                 " must be a date, e.g. 2026-11-20 or 2026-11-20T08:30:00Z");
        }
        (name == "since" ? filter.since : filter.before) = *time;
    } else {
        if (value.empty()) return invalid_query(shown + " must not be empty");
        (name == "webhook" ? filter.webhook : filter.type) = value;
    }
    return {};
}

Checked set_ids(DeadFilter& filter, const Json& ids) {
    const bool fits = ids.is_array() && !ids.empty() && ids.size() <= kDeadLettersMax &&
                      std::all_of(ids.begin(), ids.end(),
                                  [](const Json& id) { return id.is_string() && id != ""; });
    if (!fits) {
        return invalid_query("$.ids must be a list of 1 to " + std::to_string(kDeadLettersMax) +
                             " ids of deliveries");
    }
    filter.deliveries = ids.get<std::vector<std::string>>();
    return {};
}

Checked set_member(DeadOrder& order, Text name, const Json& value) {
    constexpr std::array<std::string_view, 6> kFields{"webhook", "type",   "reason",
                                                      "since",   "before", "limit"};
    const auto path = "$." + name;
    if (name == "ids") return set_ids(order.filter, value);
    if (name == "dry_run") {
        if (!value.is_boolean()) return invalid_query(path + " must be true or false");
        order.dry_run = value.get<bool>();
        return {};
    }
    if (std::find(kFields.begin(), kFields.end(), name) == kFields.end()) {
        return invalid_query(path +
                             " is no field; there are webhook, type, reason, since, before, ids, "
                             "limit and dry_run");
    }
    if (name == "limit") {
        const auto number = value.is_number_integer() ? core::json_text(value) : "";
        return set_field(order.filter, order.limit, name, number, path);
    }
    if (!value.is_string()) return invalid_query(path + " must be a string");
    return set_field(order.filter, order.limit, name, value.get<std::string>(), path);
}

/// Before all letters that died then.
LetterPlace place_before(core::Timestamp died) { return {.died = died, .partition = -1}; }

/// Visits the letters that the caller may see, of the filter's time alone.
void each_letter(const DeadIndex& index, const LetterRights& rights, const DeadFilter& filter,
                 std::optional<LetterPlace> after, const DeadIndex::Visit& visit) {
    if (filter.since) after = std::max(after, std::optional{place_before(*filter.since)});
    const auto in_time = [&](const DeadLetter& letter) {
        return !(filter.before && letter.place.died >= *filter.before) && visit(letter);
    };
    rights.owner ? index.each_of(*rights.owner, after, in_time) : index.each(after, in_time);
}

}  // namespace

core::Result<DeadPage> parse_dead_page(std::string_view query) {
    auto parameters =
        parse_parameters(query, {"webhook", "type", "reason", "since", "before", "limit", "after"});
    if (!parameters) return core::fail(parameters.error());
    DeadPage page;
    if (const auto after = parameters->extract("after")) {
        page.after = LetterPlace::parse(after.mapped());
        if (!page.after) {
            return invalid_query("the parameter after must be the value of `next` of a reply");
        }
    }
    for (const auto& [name, value] : *parameters) {
        auto set = set_field(page.filter, page.limit, name, value, "the parameter " + name);
        if (!set) return core::fail(set.error());
    }
    return page;
}

core::Result<DeadOrder> parse_dead_order(std::string_view body) {
    const auto json = body.empty() ? Json::object() : core::parse_json(body);
    if (!json.is_object()) return invalid_query("$ must be an object");
    DeadOrder order;
    for (const auto& [name, value] : json.items()) {
        if (const auto set = set_member(order, name, value); !set) return core::fail(set.error());
    }
    return order;
}

LetterList list_letters(const DeadIndex& index, const DeadPage& page, const LetterRights& rights) {
    LetterList list;
    bool more = false;
    each_letter(index, rights, page.filter, page.after, [&](const DeadLetter& letter) {
        if (!page.filter.admits(letter) || !rights.state_of(letter)) return true;
        more = list.letters.size() == page.limit;
        if (!more) list.letters.push_back(&letter);
        return !more;
    });
    if (more) list.next = list.letters.back()->place;
    return list;
}

LetterSelection select_letters(const DeadIndex& index, const DeadOrder& order, Settlement how,
                               const LetterRights& rights) {
    LetterSelection all;
    const auto visit = [&](const DeadLetter& letter) {
        const auto* state = order.filter.admits(letter) ? rights.state_of(letter) : nullptr;
        if (!state) return true;
        ++all.matched;
        if (how == Settlement::redriven && !state->enabled) {
            ++all.disabled;
        } else if (all.letters.size() < order.limit) {
            all.letters.push_back(letter);
        }
        return true;
    };
    if (order.filter.deliveries.empty()) {
        each_letter(index, rights, order.filter, std::nullopt, visit);
        return all;
    }
    const std::set<std::string> ids{order.filter.deliveries.begin(), order.filter.deliveries.end()};
    for (const auto& id : ids) {
        if (const auto* letter = index.find(id)) visit(*letter);
    }
    return all;
}

Json letter_json(const DeadLetter& letter) {
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

std::string letter_page(const DeadLetter& letter, const Delivery& delivery) {
    auto page = letter_json(letter);
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
