#include "tools/running/ops_client.hpp"

#include "app/process/process.hpp"
#include "core/authority.hpp"
#include "core/json_text.hpp"

#include <chrono>
#include <utility>

namespace beckon::tools {

namespace {

constexpr std::chrono::seconds kOpsReplyTimeout{10};
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

OpsReply OpsConnection::ask(const std::string& target) {
    const auto raw = app::must(get(target));
    return {.status = raw.status, .body = core::parse_json(raw.body)};
}

OpsReply ask_ops_port(const ops::OpsConfig& ops, const std::string& target,
                      const std::string& bearer) {
    return OpsConnection{ops, bearer}.ask(target);
}

}  // namespace beckon::tools
