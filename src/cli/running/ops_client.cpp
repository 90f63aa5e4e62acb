#include "cli/running/ops_client.hpp"

#include "cli/roles/banner.hpp"
#include "cli/roles/process.hpp"
#include "core/handle.hpp"

#include <array>
#include <utility>

#include <curl/curl.h>

namespace beckon::cli {

namespace {

constexpr long kTimeoutMs = 10'000;
constexpr std::size_t kReplyBytesMax = 16U << 20;

using Curl = core::Handle<CURL, curl_easy_cleanup>;
using HeaderList = core::Handle<curl_slist, curl_slist_free_all>;

std::size_t on_body(char* data, std::size_t size, std::size_t count, void* user) noexcept {
    auto& body = *static_cast<std::string*>(user);
    if (body.size() + size * count > kReplyBytesMax) return 0;
    body.append(data, size * count);
    return size * count;
}

}  // namespace

struct OpsConnection::Impl {
    Impl(const ops::OpsConfig& ops, const std::string& bearer)
        : origin("http://" + authority(ops.host, ops.port)), curl(curl_easy_init()) {
        if (!bearer.empty()) {
            headers.reset(curl_slist_append(nullptr, ("Authorization: Bearer " + bearer).c_str()));
        }
        curl_easy_setopt(curl.get(), CURLOPT_PROXY, "");
        curl_easy_setopt(curl.get(), CURLOPT_TIMEOUT_MS, kTimeoutMs);
        curl_easy_setopt(curl.get(), CURLOPT_NOSIGNAL, 1L);
        curl_easy_setopt(curl.get(), CURLOPT_ERRORBUFFER, why.data());
        curl_easy_setopt(curl.get(), CURLOPT_HTTPHEADER, headers.get());
        curl_easy_setopt(curl.get(), CURLOPT_WRITEFUNCTION, on_body);
    }

    const std::string origin;
    std::array<char, CURL_ERROR_SIZE> why{};
    HeaderList headers;
    Curl curl;
};

OpsConnection::OpsConnection(const ops::OpsConfig& ops, const std::string& bearer)
    : impl_(std::make_unique<Impl>(ops, bearer)) {}

OpsConnection::~OpsConnection() = default;
OpsConnection::OpsConnection(OpsConnection&&) noexcept = default;

core::Result<OpsConnection::Raw> OpsConnection::get(const std::string& target) {
    auto* const curl = impl_->curl.get();
    const auto url = impl_->origin + target;
    Raw reply;
    curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, &reply.body);
    if (curl_easy_perform(curl) != CURLE_OK) {
        return core::fail(core::Fault::unavailable,
                          "no Beckon answers at its ops port " + impl_->origin + " (" +
                              std::string{impl_->why.data()} +
                              "): name the port of the running process with --ops-port");
    }
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &reply.status);
    return reply;
}

OpsReply ask_ops_port(const ops::OpsConfig& ops, const std::string& target) {
    auto raw = OpsConnection{ops, {}}.get(target);
    if (!raw) throw StartupError(raw.error().message);
    return {.status = raw->status, .body = nlohmann::json::parse(raw->body, nullptr, false)};
}

std::string percent_encoded(const std::string& text) {
    const Curl curl{curl_easy_init()};
    char* const escaped = curl_easy_escape(curl.get(), text.data(), static_cast<int>(text.size()));
    std::string out{escaped};
    curl_free(escaped);
    return out;
}

}  // namespace beckon::cli
