#include "tools/running/ops_client.hpp"

#include "app/process/authority.hpp"
#include "app/process/process.hpp"
#include "core/json_text.hpp"
#include "fetch/transfer.hpp"

#include <chrono>
#include <utility>

namespace beckon::tools {

namespace {

constexpr std::chrono::seconds kOpsReplyTimeout{10};
constexpr std::size_t kReplyBytesMax = 16U << 20;

}  // namespace

struct OpsConnection::Impl {
    Impl(const ops::OpsConfig& ops, const std::string& bearer)
        : origin("http://" + app::authority(ops.host, ops.port)) {
        if (!bearer.empty()) headers.add("Authorization: Bearer " + bearer);
    }

    const std::string origin;
    fetch::HeaderLines headers;
    fetch::Easy curl = fetch::make_easy();
};

OpsConnection::OpsConnection(const ops::OpsConfig& ops, const std::string& bearer)
    : impl_(std::make_unique<Impl>(ops, bearer)) {}

OpsConnection::~OpsConnection() = default;
OpsConnection::OpsConnection(OpsConnection&&) noexcept = default;

core::Result<OpsConnection::Raw> OpsConnection::get(const std::string& target) {
    fetch::Transfer transfer{impl_->curl.get(),
                             {.url = impl_->origin + target,
                              .timeout = kOpsReplyTimeout,
                              .body_bytes_max = kReplyBytesMax}};
    transfer.headers(impl_->headers);
    auto answer = transfer.perform();
    if (!answer) {
        return core::fail(core::Fault::unavailable,
                          "no Beckon answers at its ops port " + impl_->origin + " (" +
                              answer.error().message +
                              "): name the port of the running process with --ops-port");
    }
    return Raw{.status = answer->status, .body = std::move(answer->body)};
}

OpsReply ask_ops_port(const ops::OpsConfig& ops, const std::string& target) {
    auto raw = OpsConnection{ops, {}}.get(target);
    if (!raw) throw app::StartupError(raw.error().message);
    return {.status = raw->status, .body = core::parse_json(raw->body)};
}

}  // namespace beckon::tools
