#include "records/done.hpp"

#include "core/json_text.hpp"
#include "records/headers.hpp"

#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

namespace beckon::retry {

using core::Fault;
using core::Offset;
using Json = nlohmann::json;

namespace {

constexpr std::string_view kDoneType = "beckon.retry.done.v1";
constexpr std::string_view kKeyPrefix = "done/";

/// Ranges as lengths in turn: not finished, finished, not finished, … from `low` on.
Json lengths_of(const Finished& finished) {
    Json lengths = Json::array();
    Offset at = finished.low;
    for (const auto& range : finished.above) {
        lengths.push_back(range.begin - at);
        lengths.push_back(range.end - range.begin);
        at = range.end;
    }
    return lengths;
}

Finished finished_of(Offset low, const Json& lengths) {
    Finished finished{.low = low, .above = {}};
    Offset at = low;
    for (std::size_t i = 0; i + 1 < lengths.size(); i += 2) {
        const auto begin = at + lengths[i].get<Offset>();
        at = begin + lengths[i + 1].get<Offset>();
        finished.above.push_back({begin, at});
    }
    return finished;
}

Json json_of(const FanOutState& state) {
    Json value = Json::object();
    if (const auto& trial = state.trial) value["trial"] = {trial->from, trial->to, trial->times};
    if (!state.set_aside.empty()) value["set_aside"] = state.set_aside;
    if (state.open) value["open"] = true;
    return value;
}

FanOutState fan_out_of(const Json& value) {
    FanOutState state{.open = value.value("open", false)};
    if (value.contains("trial")) {
        const auto& trial = value["trial"];
        state.trial = {.from = trial.at(0).get<Offset>(),
                       .to = trial.at(1).get<Offset>(),
                       .times = trial.at(2).get<int>()};
    }
    if (value.contains("set_aside")) {
        state.set_aside = value["set_aside"].get<std::vector<Offset>>();
    }
    return state;
}

DoneRecord done_from(core::Partition partition, const Json& value) {
    DoneRecord done{.partition = partition,
                    .epoch = value.at("epoch").get<core::Epoch>(),
                    .delays = {},
                    .tiers = {},
                    .dead_scan = value.at("dead_scan").get<Offset>(),
                    .events_next = value.at("events_next").get<Offset>()};
    if (value.contains("fan_out")) done.fan_out = fan_out_of(value["fan_out"]);
    for (const auto& delay : value.at("delays_s")) {
        done.delays.emplace_back(delay.get<std::int64_t>());
    }
    for (const auto& [tier, state] : value.at("tiers").items()) {
        done.tiers[std::stoi(tier)] = {
            finished_of(state.at("low").get<Offset>(), state.at("above")),
            state.at("scan").get<Offset>()};
    }
    return done;
}

}  // namespace

core::Record encode(const DoneRecord& done) {
    Json value{{"epoch", done.epoch},
               {"delays_s", Json::array()},
               {"tiers", Json::object()},
               {"dead_scan", done.dead_scan},
               {"events_next", done.events_next}};
    if (done.fan_out != FanOutState{}) value["fan_out"] = json_of(done.fan_out);
    for (const auto delay : done.delays) value["delays_s"].push_back(delay.count());
    for (const auto& [tier, state] : done.tiers) {
        value["tiers"][std::to_string(tier)] = {{"low", state.finished.low},
                                                {"above", lengths_of(state.finished)},
                                                {"scan", state.scan}};
    }
    core::Record record{.key = std::string{kKeyPrefix} + std::to_string(done.partition),
                        .value = core::json_text(value),
                        .headers = {}};
    record.headers.push_back({core::header::kSpecVersion, "1.0"});
    record.headers.push_back({core::header::kType, std::string{kDoneType}});
    record.headers.push_back({core::header::kContentType, "application/json"});
    return record;
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
