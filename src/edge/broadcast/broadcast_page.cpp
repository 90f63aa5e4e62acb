#include "edge/broadcast/broadcast_page.hpp"

#include "core/handle.hpp"

#include <array>

#include <curl/curl.h>
#include <nlohmann/json.hpp>

namespace beckon::edge {

using core::Fault;
using nlohmann::json;

namespace {

constexpr long kFetchTimeoutMs = 5'000;
constexpr long kRedirectsMax = 5;
constexpr std::size_t kPageBytesMax = 1U << 20;

using Curl = core::Handle<CURL, curl_easy_cleanup>;

std::size_t on_body(char* data, std::size_t size, std::size_t count, void* user) noexcept {
    auto& body = *static_cast<std::string*>(user);
    if (body.size() + size * count > kPageBytesMax) return 0;
    body.append(data, size * count);
    return size * count;
}

int on_progress(void* user, curl_off_t, curl_off_t, curl_off_t, curl_off_t) noexcept {
    return static_cast<const std::stop_token*>(user)->stop_requested() ? 1 : 0;
}

tl::unexpected<core::Error> invalid(std::string why) {
    return core::fail(Fault::invalid, std::move(why));
}

}  // namespace

core::Result<std::vector<BroadcastSet>> parse_broadcasts(std::string_view body) {
    const auto page = json::parse(body, nullptr, false);
    if (!page.is_object() || !page.contains("broadcasts") || !page["broadcasts"].is_object()) {
        return invalid(R"(the page is not {"broadcasts": {id: version}} in JSON)");
    }
    std::vector<BroadcastSet> out;
    for (const auto& [id, version] : page["broadcasts"].items()) {
        if (!version.is_string())
            return invalid("the version of broadcast '" + id + "' is no text");
        BroadcastSet broadcast{.id = id, .version = version.get<std::string>()};
        if (const auto good = check(broadcast); !good) return core::fail(good.error());
        out.push_back(std::move(broadcast));
    }
    if (out.size() > kBroadcastsMax) {
        return invalid("the page has " + std::to_string(out.size()) + " broadcasts; " +
                       std::to_string(kBroadcastsMax) + " are allowed");
    }
    return out;
}

core::Result<std::string> fetch_page(const std::string& url, const std::stop_token& stop) {
    const Curl curl{curl_easy_init()};
    std::string body;
    std::array<char, CURL_ERROR_SIZE> why{};
    curl_easy_setopt(curl.get(), CURLOPT_URL, url.c_str());
    curl_easy_setopt(curl.get(), CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl.get(), CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl.get(), CURLOPT_PROXY, "");
    curl_easy_setopt(curl.get(), CURLOPT_FOLLOWLOCATION, 1L);
    curl_easy_setopt(curl.get(), CURLOPT_MAXREDIRS, kRedirectsMax);
    curl_easy_setopt(curl.get(), CURLOPT_TIMEOUT_MS, kFetchTimeoutMs);
    curl_easy_setopt(curl.get(), CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl.get(), CURLOPT_ERRORBUFFER, why.data());
    curl_easy_setopt(curl.get(), CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(curl.get(), CURLOPT_WRITEDATA, &body);
    curl_easy_setopt(curl.get(), CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(curl.get(), CURLOPT_XFERINFOFUNCTION, on_progress);
    curl_easy_setopt(curl.get(), CURLOPT_XFERINFODATA, &stop);
    const auto done = curl_easy_perform(curl.get());
    if (done == CURLE_WRITE_ERROR) {
        return core::fail(Fault::too_large,
                          "the page is longer than " + std::to_string(kPageBytesMax) + " bytes");
    }
    if (done != CURLE_OK) {
        return core::fail(Fault::unavailable, why[0] ? why.data() : curl_easy_strerror(done));
    }
    long status = 0;
    curl_easy_getinfo(curl.get(), CURLINFO_RESPONSE_CODE, &status);
    if (status / 100 != 2) {
        return core::fail(Fault::unavailable, "the answer has status " + std::to_string(status));
    }
    return body;
}

}  // namespace beckon::edge
