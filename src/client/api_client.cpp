#include "client/api_client.hpp"

#include "fetch/transfer.hpp"

#include <thread>
#include <utility>

namespace beckon::client {

using std::chrono::steady_clock;

namespace {

constexpr std::chrono::milliseconds kAskAgain{200};
constexpr std::size_t kAnswerBytesMax = 64 << 20;
constexpr int kUnavailable = 503;
constexpr const char* kStarting = R"("code":"not_ready")";

}  // namespace

struct ApiClient::Impl {
    Options options;
    fetch::Easy handle = fetch::make_easy();

    core::Result<ApiAnswer> ask_once(const Query& query);
};

core::Result<ApiAnswer> ApiClient::Impl::ask_once(const Query& query) {
    CURL* curl = handle.get();
    curl_easy_reset(curl);
    fetch::HeaderLines headers;
    headers.add("Authorization: Bearer " + options.token);
    headers.add("Content-Type: " + query.content_type);
    headers.add("Expect:");
    fetch::Transfer transfer{curl,
                             {.url = options.origin + query.path,
                              .timeout = options.timeout,
                              .body_bytes_max = kAnswerBytesMax}};
    transfer.headers(headers);
    transfer.trust({.insecure = options.insecure, .ca_file = options.ca_file});
    if (query.method != "GET" && query.method != "DELETE") {
        curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE, static_cast<long>(query.body.size()));
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, query.body.data());
    }
    curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, query.method.c_str());
    auto answer = transfer.perform();
    if (!answer) {
        return core::fail(answer.error().fault, options.origin + ": " + answer.error().message);
    }
    return ApiAnswer{.status = answer->status, .body = std::move(answer->body)};
}

ApiClient::ApiClient(Options options) : impl_(std::make_unique<Impl>()) {
    impl_->options = std::move(options);
}

ApiClient::~ApiClient() = default;

core::Result<ApiAnswer> ApiClient::ask(const Query& query) {
    const auto until = steady_clock::now() + impl_->options.patience;
    for (;;) {
        auto answer = impl_->ask_once(query);
        const bool starting = answer && answer->status == kUnavailable &&
                              answer->body.find(kStarting) != std::string::npos;
        if (!starting || steady_clock::now() >= until) return answer;
        std::this_thread::sleep_for(kAskAgain);
    }
}

}  // namespace beckon::client
