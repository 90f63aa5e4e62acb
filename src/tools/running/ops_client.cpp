#include "tools/running/ops_client.hpp"

#include "app/process/process.hpp"
#include "core/authority.hpp"
#include "core/json_text.hpp"

#include <chrono>
#include <utility>

namespace beckon::tools {

namespace {

constexpr std::chrono::seconds kOpsReplyTimeout{10};

}  // namespace

OpsConnection::OpsConnection(const ops::OpsConfig& ops, const std::string& bearer)
    : process_({.origin = "http://" + core::local_authority(ops.host, ops.port),
                .token = bearer,
                .timeout = kOpsReplyTimeout,
                .patience = {}}) {}

core::Result<OpsConnection::Raw> OpsConnection::get(const std::string& target) {
    auto answer = process_.ask({.path = target});
    if (answer) return answer;
    return core::fail(core::Fault::unavailable,
                      "no Beckon answers at its ops port (" + answer.error().message +
                          "): name the port of the running process with --ops-port");
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
