#include "client/api_client.hpp"

#include <thread>

namespace beckon::client {

using std::chrono::steady_clock;

namespace {

constexpr std::chrono::milliseconds kAskAgain{200};
constexpr std::size_t kAnswerBytesMax = 64 << 20;
constexpr int kUnavailable = 503;
constexpr const char* kStarting = R"("code":"not_ready")";

}  // namespace

core::Result<ApiAnswer> ApiClient::ask_once(const Query& query) {
    CURL* curl = handle_.get();
    curl_easy_reset(curl);
    fetch::HeaderLines headers;
    if (!options_.token.empty()) headers.add("Authorization: Bearer " + options_.token);
    headers.add("Content-Type: " + query.content_type);
    headers.add("Expect:");
    fetch::Transfer transfer{curl,
                             {.url = options_.origin + query.path,
                              .timeout = options_.timeout,
                              .body_bytes_max = kAnswerBytesMax}};
    transfer.headers(headers);
    transfer.trust({.insecure = options_.insecure, .ca_file = options_.ca_file});
    if (query.method != "GET" && query.method != "DELETE") {
        curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE, static_cast<long>(query.body.size()));
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, query.body.data());
    }
    curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, query.method.c_str());
    auto answer = transfer.perform();
    if (!answer) {
        return core::fail(answer.error().fault, options_.origin + ": " + answer.error().message);
    }
    return ApiAnswer{.status = answer->status, .body = std::move(answer->body)};
}

core::Result<ApiAnswer> ApiClient::ask(const Query& query) {
    const auto until = steady_clock::now() + options_.patience;
    for (;;) {
        auto answer = ask_once(query);
        const bool starting = answer && answer->status == kUnavailable &&
                              answer->body.find(kStarting) != std::string::npos;
        if (!starting || steady_clock::now() >= until) return answer;
        std::this_thread::sleep_for(kAskAgain);
    }
}

}  // namespace beckon::client
