#include "records/done.hpp"

#include "core/json_parts.hpp"
#include "core/json_text.hpp"
#include "core/whole_number.hpp"
#include "records/fields.hpp"

#include <cstdint>
#include <exception>
#include <map>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace beckon::retry {

using core::Fault;
using core::Offset;
using Json = nlohmann::json;

namespace {

constexpr std::string_view kDoneType = "beckon.retry.done.v1";
constexpr std::string_view kKeyPrefix = "done/";

/// Ranges as lengths in turn: not finished, finished, not finished, … from `low` on. Written as
/// text at once: there are thousands of them, five times a second.
std::string lengths_of(const Finished& finished) {
    std::string lengths = "[";
    const auto add = [&lengths](Offset length) {
        if (lengths.size() > 1) lengths.push_back(',');
        lengths += std::to_string(length);
    };
    Offset at = finished.low;
    for (const auto& range : finished.above) {
        add(range.begin - at);
        add(range.end - range.begin);
        at = range.end;
    }
    return lengths.append(1, ']');
}

std::string text_of(const std::map<int, DoneRecord::Tier>& tiers) {
    std::string all = "{";
    for (const auto& [tier, state] : tiers) {
        std::string one = "{";
        core::append_json_member(one, "above", lengths_of(state.finished));
        core::append_json_member(one, "low", std::to_string(state.finished.low));
        core::append_json_member(one, "scan", std::to_string(state.scan));
        core::append_json_member(all, std::to_string(tier), one.append(1, '}'));
    }
    return all.append(1, '}');
}

/// `length` offsets behind `at`.
Offset behind(Offset at, const Json& length) {
    Offset end = 0;
    if (__builtin_add_overflow(at, core::whole_number<Offset>(length), &end) || end < at) {
        throw Json::other_error::create(501, "not the length of a range", &length);
    }
    return end;
}

Finished finished_of(Offset low, const Json& lengths) {
    Finished finished{.low = low, .above = {}};
    Offset at = low;
    for (std::size_t i = 0; i + 1 < lengths.size(); i += 2) {
        const auto begin = behind(at, lengths[i]);
        at = behind(begin, lengths[i + 1]);
        finished.above.push_back({begin, at});
    }
    return finished;
}

DoneRecord done_from(core::Partition partition, const Json& value) {
    DoneRecord done{.partition = partition,
                    .epoch = core::whole_number<core::Epoch>(value.at("epoch")),
                    .delays = {},
                    .tiers = {},
                    .dead_scan = core::whole_number<Offset>(value.at("dead_scan")),
                    .events_next = core::whole_number<Offset>(value.at("events_next"))};
    for (const auto& delay : value.at("delays_s")) {
        done.delays.emplace_back(core::whole_number<std::int64_t>(delay));
    }
    for (const auto& [tier, state] : value.at("tiers").items()) {
        done.tiers[std::stoi(tier)] = {
            finished_of(core::whole_number<Offset>(state.at("low")), state.at("above")),
            core::whole_number<Offset>(state.at("scan"))};
    }
    return done;
}

}  // namespace

core::Record encode(const DoneRecord& done) {
    Json value{{"epoch", done.epoch},
               {"delays_s", Json::array()},
               {"dead_scan", done.dead_scan},
               {"events_next", done.events_next}};
    for (const auto delay : done.delays) value["delays_s"].push_back(delay.count());
    return core::state_record(
        std::string{kKeyPrefix} + std::to_string(done.partition), kDoneType,
        core::with_json_member(core::json_text(value), "tiers", text_of(done.tiers)));
}

core::Result<DoneRecord> decode_done(const core::RecordView& record) {
    if (!record.key.starts_with(kKeyPrefix)) return core::fail(Fault::not_found, "another key");
    if (!record.value) return core::fail(Fault::corrupt, "a done record without a value");
    try {
        const auto partition = std::stoi(std::string{record.key.substr(kKeyPrefix.size())});
        return done_from(partition, core::must_parse_json(*record.value));
    } catch (const std::exception& fault) {  // of the JSON library and of std::stoi
        return core::fail(Fault::corrupt,
                          "a done record that does not decode: " + std::string{fault.what()});
    }
}

}  // namespace beckon::retry
