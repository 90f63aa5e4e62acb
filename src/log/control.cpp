#include "log/control.hpp"

#include "core/clock.hpp"
#include "core/json_text.hpp"
#include "log/blocking_executor.hpp"
#include "log/read_partition.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include <nlohmann/json.hpp>

namespace beckon::log {

using core::Fault;
using nlohmann::json;
using std::chrono::milliseconds;

namespace {

const TopicPartition kControl{Topic::kControl, 0};
constexpr const char* kHash = "murmur2";
/// One key for each, so that processes that start at the same time do not overwrite each other's.
constexpr std::string_view kOriginPrefix = "origin/";

using Entries = NewestValues;

core::Result<Control> parse(const Entries& entries) {
    if (!entries.contains("log") || !entries.contains("layout")) {
        return core::fail(Fault::not_found, "the topic control names no log");
    }
    Control control;
    try {
        const auto log = core::must_parse_json(entries.at("log"));
        control.log_id = log.at("id");
        control.created = log.at("created");
        control.cluster = log.value("cluster", std::string{});
        const auto layout = core::must_parse_json(entries.at("layout"));
        control.partitions = layout.at("partitions");
        if (const std::string hash = layout.at("hash"); hash != kHash) {
            return core::fail(Fault::corrupt, "control says that keys are placed by '" + hash +
                                                  "', this Beckon knows " + kHash + " only");
        }
        if (const auto tiers = entries.find("tiers"); tiers != entries.end()) {
            const auto parsed =
                core::must_parse_json(tiers->second);  // outlives the loop over a part of it
            for (const std::int64_t delay : parsed.at("delays_s")) {
                control.tiers.emplace_back(delay);
            }
        }
        if (const auto keys = entries.find("keyring"); keys != entries.end()) {
            control.keyring_fingerprint = core::must_parse_json(keys->second).at("fingerprint");
        }
        for (const auto& [key, value] : entries) {
            if (key.starts_with(kOriginPrefix)) {
                control.origins.push_back(key.substr(kOriginPrefix.size()));
            }
        }
    } catch (const json::exception& error) {
        return core::fail(Fault::corrupt, std::string{"the topic control: "} + error.what());
    }
    if (control.log_id.empty() || control.partitions < 1) {
        return core::fail(Fault::corrupt, "the topic control has no log id or no partitions");
    }
    return control;
}

using Entry = std::pair<std::string, std::optional<std::string>>;

Entry entry_of_origin(const std::string& origin) {
    return {std::string{kOriginPrefix} + origin, core::json_text(json{{"origin", origin}})};
}

/// In the order of writing: `log` comes last, so that an unfinished set is as good as none.
std::vector<Entry> entries_of(const Control& control) {
    std::vector<Entry> entries;
    json delays = json::array();
    for (const auto delay : control.tiers) delays.push_back(delay.count());
    entries.emplace_back("tiers", core::json_text(json{{"delays_s", delays}}));
    if (control.keyring_fingerprint) {
        entries.emplace_back("keyring",
                             core::json_text(json{{"fingerprint", *control.keyring_fingerprint}}));
    }
    for (const auto& origin : control.origins) entries.push_back(entry_of_origin(origin));
    entries.emplace_back(
        "layout", core::json_text(json{{"partitions", control.partitions}, {"hash", kHash}}));
    json log{{"id", control.log_id}, {"created", control.created}};
    if (!control.cluster.empty()) log["cluster"] = control.cluster;
    entries.emplace_back("log", core::json_text(log));
    return entries;
}

/// One after the other, each when the one before is in the log.
core::Result<void> write_entries(EventLog& log, const std::vector<Entry>& entries,
                                 milliseconds timeout) {
    BlockingExecutor executor;
    const auto publisher = log.open_publisher(executor);
    const auto until = core::SystemClock{}.mono() + timeout;
    for (const auto& [key, value] : entries) {
        std::optional<core::Result<Appended>> answer;
        publisher->publish(kControl, {key, value, {}},
                           [&](const auto& result) { answer = result; });
        if (!executor.wait_until([&] { return answer.has_value(); }, until)) {
            return core::fail(Fault::timed_out, "the topic control was not written in time");
        }
        if (!*answer) return core::fail(answer->error());
    }
    return {};
}

}  // namespace

core::Result<Control> read_control(EventLog& log, milliseconds timeout) {
    const auto entries = read_newest_values(log, kControl, timeout);
    if (!entries) return core::fail(entries.error());
    return parse(*entries);
}

core::Result<void> write_control(EventLog& log, const Control& control,
                                 const std::optional<Control>& previous, milliseconds timeout) {
    Entries known;
    if (previous) {
        for (auto& [key, value] : entries_of(*previous)) known.emplace(key, value.value_or(""));
    }
    auto entries = entries_of(control);
    std::erase_if(entries, [&](const Entry& entry) {
        const auto old = known.find(entry.first);
        return old != known.end() && old->second == entry.second;
    });
    return write_entries(log, entries, timeout);
}

core::Result<void> write_origin(EventLog& log, const std::string& origin, milliseconds timeout) {
    return write_entries(log, {entry_of_origin(origin)}, timeout);
}

core::Result<std::vector<core::SenderRule>> read_sender_rules(EventLog& log, milliseconds timeout) {
    const auto entries = read_newest_values(log, kControl, timeout);
    if (!entries) return core::fail(entries.error());
    std::vector<core::SenderRule> rules;
    for (const auto& [key, value] : *entries) {
        core::RecordView record;
        record.key = key;
        record.value = value;
        if (auto rule = core::decode_sender_rule(record)) rules.push_back(std::move(*rule));
    }
    return rules;
}

core::Result<void> write_sender_rule(EventLog& log, const core::SenderRule& rule,
                                     milliseconds timeout) {
    if (auto good = core::check(rule); !good) return good;
    const auto rules = read_sender_rules(log, timeout);
    if (!rules) return core::fail(rules.error());
    const auto* sender = std::get_if<core::BlockedSender>(&rule);
    const auto blocked = std::count_if(rules->begin(), rules->end(), [](const auto& one) {
        return std::holds_alternative<core::BlockedSender>(one);
    });
    if (sender && sender->blocked &&
        static_cast<std::size_t>(blocked) >= core::kBlockedSendersMax) {
        return core::fail(Fault::full, std::to_string(core::kBlockedSendersMax) +
                                           " senders are blocked, and no more can be: unblock one");
    }
    auto record = core::encode(rule);
    return write_entries(log, {{std::move(record.key), std::move(record.value)}}, timeout);
}

}  // namespace beckon::log
