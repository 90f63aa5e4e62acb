#include "cli/running/ops_client.hpp"

#include "cli/roles/banner.hpp"
#include "cli/roles/process.hpp"
#include "core/handle.hpp"

#include <array>

#include <curl/curl.h>

namespace beckon::cli {

namespace {

constexpr long kTimeoutMs = 10'000;
constexpr std::size_t kReplyBytesMax = 16U << 20;

using Curl = core::Handle<CURL, curl_easy_cleanup>;

std::size_t on_body(char* data, std::size_t size, std::size_t count, void* user) noexcept {
    auto& body = *static_cast<std::string*>(user);
    if (body.size() + size * count > kReplyBytesMax) return 0;
    body.append(data, size * count);
    return size * count;
}

}  // namespace

OpsReply ask_ops_port(const ops::OpsConfig& ops, const std::string& target) {
    const auto origin = "http://" + authority(ops.host, ops.port);
    const auto url = origin + target;
    const Curl curl{curl_easy_init()};
    std::string body;
    std::array<char, CURL_ERROR_SIZE> why{};
    curl_easy_setopt(curl.get(), CURLOPT_URL, url.c_str());
    curl_easy_setopt(curl.get(), CURLOPT_PROXY, "");
    curl_easy_setopt(curl.get(), CURLOPT_TIMEOUT_MS, kTimeoutMs);
    curl_easy_setopt(curl.get(), CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl.get(), CURLOPT_ERRORBUFFER, why.data());
    curl_easy_setopt(curl.get(), CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(curl.get(), CURLOPT_WRITEDATA, &body);
    if (curl_easy_perform(curl.get()) != CURLE_OK) {
        throw StartupError("no Beckon answers at its ops port " + origin + " (" +
                           std::string{why.data()} +
                           "): name the port of the running process with --ops-port");
    }
    OpsReply reply;
    curl_easy_getinfo(curl.get(), CURLINFO_RESPONSE_CODE, &reply.status);
    reply.body = nlohmann::json::parse(body, nullptr, false);
    return reply;
}

std::string percent_encoded(const std::string& text) {
    const Curl curl{curl_easy_init()};
    char* const escaped = curl_easy_escape(curl.get(), text.data(), static_cast<int>(text.size()));
    std::string out{escaped};
    curl_free(escaped);
    return out;
}

}  // namespace beckon::cli
