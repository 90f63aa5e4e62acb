#include "records/process.hpp"

#include "core/base64url.hpp"
#include "core/json_text.hpp"
#include "core/tokens.hpp"
#include "core/whole_number.hpp"
#include "records/fields.hpp"

#include <cmath>

#include <nlohmann/json.hpp>

namespace beckon::cluster {

namespace {

using Json = nlohmann::json;

constexpr std::string_view kProcessType = "beckon.process.v1";
constexpr std::string_view kProcessPrefix = "process/";

Json reasons_json(const std::vector<std::string>& reasons) {
    auto out = Json::array();
    for (const auto& reason : reasons) {
        if (out.size() == ProcessRecord::kReasonsMax) break;
        out.push_back(reason.substr(0, ProcessRecord::kReasonBytesMax));
    }
    return out;
}

Json numbers_json(const std::map<std::string, double>& numbers) {
    auto out = Json::object();
    for (const auto& [name, value] : numbers) {
        if (out.size() == ProcessRecord::kNumbersMax) break;
        if (std::isfinite(value)) out[name] = value;
    }
    return out;
}

std::vector<std::string> reasons_in(const Json& value) {
    std::vector<std::string> out;
    for (const auto& reason : value) {
        if (out.size() < ProcessRecord::kReasonsMax) out.push_back(reason.get<std::string>());
    }
    return out;
}

std::map<std::string, double> numbers_in(const Json& value) {
    std::map<std::string, double> out;
    for (const auto& [name, number] : value.items()) {
        if (out.size() < ProcessRecord::kNumbersMax) out[name] = number.get<double>();
    }
    return out;
}

Json refused_json(const std::vector<RefusedSend>& refused) {
    auto out = Json::array();
    for (const auto& one : refused) {
        if (out.size() == ProcessRecord::kRefusedMax) break;
        out.push_back({{"endpoint", one.endpoint},
                       {"at", core::to_ms(one.at)},
                       {"status", one.status},
                       {"problem", one.problem},
                       {"message", one.message.substr(0, ProcessRecord::kReasonBytesMax)},
                       {"count", one.count}});
    }
    return out;
}

std::vector<RefusedSend> refused_in(const Json& value) {
    std::vector<RefusedSend> out;
    for (const auto& one : value) {
        if (out.size() == ProcessRecord::kRefusedMax) break;
        out.push_back({.endpoint = one.at("endpoint").get<std::string>(),
                       .at = core::Timestamp{std::chrono::milliseconds{
                           core::whole_number<std::int64_t>(one.at("at"))}},
                       .status = core::whole_number<int>(one.at("status")),
                       .problem = one.at("problem").get<std::string>(),
                       .message = one.at("message").get<std::string>(),
                       .count = core::whole_number<std::uint64_t>(one.at("count"))});
    }
    return out;
}

}  // namespace

std::string refused_name(std::string_view token) {
    constexpr std::size_t kBytes = 12;
    const auto digest = core::sha256(token);
    return core::hex({reinterpret_cast<const char*>(digest.data()), kBytes});
}

core::Record encode(const ProcessRecord& process) {
    auto key = std::string{kProcessPrefix} + process.role + '/' + process.id;
    if (process.removed) return core::state_record(std::move(key), kProcessType, std::nullopt);
    Json value{{"name", process.name},
               {"version", process.version},
               {"started", core::to_ms(process.started)},
               {"at", core::to_ms(process.at)},
               {"ready", process.ready},
               {"faults", reasons_json(process.faults)},
               {"warnings", reasons_json(process.warnings)},
               {"counters", numbers_json(process.counters)},
               {"gauges", numbers_json(process.gauges)}};
    if (!process.refused.empty()) value["refused"] = refused_json(process.refused);
    if (!process.view.empty() && process.view.size() <= ProcessRecord::kPartitionsMax) {
        value["view"] = process.view;
    }
    return core::state_record(std::move(key), kProcessType, core::json_text(value));
}

bool is_process_key(std::string_view key) { return key.starts_with(kProcessPrefix); }

std::optional<ProcessRecord> decode_process(const core::RecordView& record) try {
    if (!is_process_key(record.key)) return std::nullopt;
    const auto rest = record.key.substr(kProcessPrefix.size());
    const auto slash = rest.find('/');
    if (slash == rest.npos) return std::nullopt;
    ProcessRecord out{.role = std::string{rest.substr(0, slash)},
                      .id = std::string{rest.substr(slash + 1)},
                      .removed = !record.value};
    if (out.removed) return out;
    const auto [json, why] = core::parse_object(*record.value);
    if (!why.empty()) return std::nullopt;
    out.name = json.value("name", "");
    out.version = json.value("version", "");
    out.started =
        core::Timestamp{std::chrono::milliseconds{core::whole_number(json, "started", 0LL)}};
    out.at = core::Timestamp{std::chrono::milliseconds{core::whole_number(json, "at", 0LL)}};
    out.ready = json.value("ready", false);
    out.faults = reasons_in(json.value("faults", Json::array()));
    out.warnings = reasons_in(json.value("warnings", Json::array()));
    out.counters = numbers_in(json.value("counters", Json::object()));
    out.gauges = numbers_in(json.value("gauges", Json::object()));
    out.refused = refused_in(json.value("refused", Json::array()));
    for (const auto& next : json.value("view", Json::array())) {
        const auto offset = next.is_number_integer() ? next.get<core::Offset>() : -1;
        if (offset < 0 || out.view.size() == ProcessRecord::kPartitionsMax) return std::nullopt;
        out.view.push_back(offset);
    }
    return out;
} catch (const Json::exception&) {
    return std::nullopt;  // a member of another type
}

}  // namespace beckon::cluster
