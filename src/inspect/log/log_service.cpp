#include "inspect/log/log_service.hpp"

#include "core/ascii.hpp"
#include "core/base64url.hpp"
#include "core/decimal.hpp"
#include "core/hmac.hpp"
#include "core/json_text.hpp"
#include "core/list_text.hpp"
#include "inspect/log/log_batch.hpp"
#include "inspect/pages/page_thread.hpp"
#include "log/control.hpp"
#include "log/read_partition.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

namespace beckon::inspect {

using core::Fault;
using nlohmann::json;
using ops::Page;
using std::chrono::milliseconds;

namespace {

constexpr std::string_view kPurpose = "beckon/log-pages/1";
/// Shorter than the port's ten seconds.
constexpr milliseconds kTimeout{5'000};
constexpr std::size_t kBatchBytesMax = 4U << 20;
constexpr std::size_t kPartitionsMax = 10'000;

int status_of(Fault fault) {
    switch (fault) {
        case Fault::invalid:
        case Fault::too_large:
        case Fault::conflict: return 400;
        case Fault::unauthorized: return 401;
        case Fault::not_found: return 404;
        case Fault::out_of_range: return 416;
        case Fault::full:
        case Fault::timed_out:
        case Fault::unavailable: return 503;
        case Fault::corrupt: return 500;
    }
    return 500;
}

Page error_page(const core::Error& error) {
    return {
        .status = status_of(error.fault),
        .body = core::json_text(json{{"fault", to_string(error.fault)}, {"error", error.message}})};
}

/// A number of the query; nullopt if it is missing or none.
std::optional<std::int64_t> number(const ops::Query& query, std::string_view name) {
    const auto value = core::parse_decimal<std::int64_t>(ops::value_in(query, name));
    return value && *value >= 0 ? value : std::nullopt;
}

/// "3,4,17" of a topic; empty where that is no such list.
std::vector<log::TopicPartition> partitions_of(log::Topic topic, std::string_view list) {
    std::vector<log::TopicPartition> out;
    while (!list.empty() && out.size() < kPartitionsMax) {
        const auto partition = core::parse_decimal<core::Partition>(core::take_part(list, ','));
        if (!partition) return {};
        out.push_back({topic, *partition});
    }
    return out;
}

}  // namespace

std::string log_proof(const core::KeyRing::Key& key) {
    const auto derived = core::KeyRing::derive(key, kPurpose);
    return core::base64url({reinterpret_cast<const char*>(derived.data()), derived.size()});
}

std::string log_proof(const core::KeyRing& keys) { return log_proof(keys.keys().front()); }

namespace {

std::vector<std::string> proofs_of(const core::KeyRing& keys) {
    std::vector<std::string> proofs;
    for (const auto& key : keys.keys()) proofs.push_back(log_proof(key));
    return proofs;
}

}  // namespace

LogProofs::LogProofs(const core::KeyRing& keys)
    : keys_(keys), version_(keys.version()), proofs_(proofs_of(keys)) {}

bool LogProofs::admits(std::string_view authorization) const {
    const auto given = core::bearer_token(authorization);
    const std::scoped_lock lock{mutex_};
    if (const auto latest = keys_.version(); latest != version_) {
        proofs_ = proofs_of(keys_);
        version_ = latest;
    }
    return given && std::ranges::any_of(proofs_, [&](const std::string& proof) {
               return core::same_proof(proof, *given);
           });
}

namespace {

struct LogService {
    LogService(log::EventLog& l, const core::KeyRing& keys) : log(l), proofs(keys) {}

    void answer(ops::LateRequest request, ops::PageDone done) {
        if (!proofs.admits(request.authorization)) {
            return done(
                error_page({Fault::unauthorized,
                            "reading the log needs a proof of this installation's key ring"}));
        }
        thread.answer([this, request = std::move(request)] { return page_of(request); },
                      std::move(done));
    }
    Page page_of(const ops::LateRequest& request) {
        const auto& query = request.query;
        if (request.path == "/sender") return sender_rule(query);
        const auto topic = log::Topic::parse(ops::value_in(query, "topic"));
        if (!topic) return error_page({Fault::invalid, "topic= names no log topic"});
        const auto partitions = partitions_of(*topic, ops::value_in(query, "partitions"));
        if (request.path == "/ends") return ends(partitions);
        if (request.path == "/committed")
            return committed(std::string{ops::value_in(query, "group")}, partitions);
        if (request.path == "/records") return records(*topic, query);
        return error_page({Fault::not_found, "there is no such page"});
    }

    Page ends(const std::vector<log::TopicPartition>& partitions) {
        const auto ends = log::ends_of(log, partitions, kTimeout);
        if (!ends) return error_page(ends.error());
        auto body = json::object();
        for (const auto& [where, offsets] : *ends) {
            body[std::to_string(where.partition)] = {offsets.start, offsets.end};
        }
        return {.body = core::json_text(body)};
    }

    Page committed(const std::string& group, const std::vector<log::TopicPartition>& partitions) {
        const auto offsets = log::committed_offsets(log, group, partitions, kTimeout);
        if (!offsets) return error_page(offsets.error());
        auto body = json::object();
        for (const auto& [where, offset] : *offsets) {
            body[std::to_string(where.partition)] = offset;
        }
        return {.body = core::json_text(body)};
    }

    Page sender_rule(const ops::Query& query) {
        core::RecordView record;
        record.key = ops::value_in(query, "key");
        if (query.contains("value")) record.value = ops::value_in(query, "value");
        const auto rule = core::decode_sender_rule(record);
        if (!rule) return error_page({Fault::invalid, "key and value are no rule about a sender"});
        const auto written = log::write_sender_rule(log, *rule, kTimeout);
        return written ? Page{.body = "{}"} : error_page(written.error());
    }

    Page records(log::Topic topic, const ops::Query& query) {
        const auto partition = number(query, "partition");
        const auto from = number(query, "from");
        const auto bytes = number(query, "bytes");
        if (!partition || *partition > 65'535 || !from || !bytes) {
            return error_page({Fault::invalid, "partition, from and bytes are numbers"});
        }
        const log::TopicPartition where{topic, static_cast<core::Partition>(*partition)};
        const auto ends = log::ends_of(log, where, kTimeout);
        if (!ends) return error_page(ends.error());
        if (*from > ends->end) return error_page({Fault::out_of_range, "above the log's end"});
        const auto limit = std::min(static_cast<std::size_t>(*bytes), kBatchBytesMax);
        LogBatchWriter batch;
        const auto next = log::read_range(
            log, where, {*from, ends->end},
            [&](const core::RecordView& record) {
                batch.add(record);
                return batch.bytes() < limit ? log::Next::go_on : log::Next::stop;
            },
            kTimeout);
        if (!next) return error_page(next.error());
        return {.type = "application/octet-stream",
                .body = batch.finish(*next, *next >= ends->end)};
    }

    log::EventLog& log;
    const LogProofs proofs;
    PageThread thread{"log-pages"};  ///< last: it uses the others
};

}  // namespace

ops::Mount mount_log_service(ops::OpsServer& ops, log::EventLog& log, const core::KeyRing& keys) {
    return ops.mount_late(
        "/log", [service = std::make_shared<LogService>(log, keys)](auto request, auto done) {
            service->answer(std::move(request), std::move(done));
        });
}

}  // namespace beckon::inspect
