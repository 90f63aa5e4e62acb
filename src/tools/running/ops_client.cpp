#include "tools/running/ops_client.hpp"

#include "app/installation/key_ring_guard.hpp"
#include "app/process/process.hpp"
#include "core/authority.hpp"
#include "core/json_text.hpp"
#include "inspect/log/log_service.hpp"

#include <chrono>
#include <utility>

namespace beckon::tools {

namespace {

constexpr std::chrono::seconds kOpsReplyTimeout{10};
constexpr long kEdgeKnows = 200;
constexpr std::size_t kReplyBytesMax = 16U << 20;

}  // namespace

OpsConnection::OpsConnection(const ops::OpsConfig& ops, const std::string& bearer)
    : origin_("http://" + core::local_authority(ops.host, ops.port)) {
    if (!bearer.empty()) headers_.add("Authorization: Bearer " + bearer);
}

core::Result<OpsConnection::Raw> OpsConnection::get(const std::string& target) {
    fetch::Transfer transfer{
        curl_.get(),
        {.url = origin_ + target, .timeout = kOpsReplyTimeout, .body_bytes_max = kReplyBytesMax}};
    transfer.headers(headers_);
    auto answer = transfer.perform();
    if (!answer) {
        return core::fail(core::Fault::unavailable,
                          "no Beckon answers at its ops port " + origin_ + " (" +
                              answer.error().message +
                              "): name the port of the running process with --ops-port");
    }
    return answer;
}

EdgePage ask_edge(const app::Config& config, const std::string& target) {
    OpsConnection process{config.ops, inspect::log_proof(*app::load_key_ring(config))};
    const auto answer = process.get(target);
    if (!answer) return {.why_not = answer.error().message};
    auto page = core::parse_json(answer->body);
    if (answer->status == kEdgeKnows && page.is_object()) return {.page = std::move(page)};
    return {.why_not = "the process at the ops port answers " + std::to_string(answer->status) +
                       ": it is no edge of this installation"};
}

OpsReply ask_ops_port(const ops::OpsConfig& ops, const std::string& target,
                      const std::string& bearer) {
    auto raw = OpsConnection{ops, bearer}.get(target);
    if (!raw) throw app::StartupError(raw.error().message);
    return {.status = raw->status, .body = core::parse_json(raw->body)};
}

}  // namespace beckon::tools
