#include "cli/webhooks/api_client.hpp"

#include "core/handle.hpp"

#include <thread>
#include <utility>

#include <curl/curl.h>

namespace beckon::cli {

using std::chrono::steady_clock;

namespace {

constexpr std::chrono::milliseconds kAskAgain{200};
constexpr std::size_t kAnswerBytesMax = 64 << 20;
constexpr int kUnavailable = 503;
constexpr const char* kStarting = R"("code":"not_ready")";

std::size_t on_body(char* data, std::size_t size, std::size_t count, void* out) {
    auto& body = *static_cast<std::string*>(out);
    if (body.size() + size * count > kAnswerBytesMax) return 0;
    body.append(data, size * count);
    return size * count;
}

}  // namespace

struct ApiClient::Impl {
    Options options;
    core::Handle<CURL, curl_easy_cleanup> handle{curl_easy_init()};

    core::Result<ApiAnswer> ask_once(const Question& question);
};

core::Result<ApiAnswer> ApiClient::Impl::ask_once(const Question& question) {
    CURL* curl = handle.get();
    curl_easy_reset(curl);
    const auto url = options.origin + question.path;
    curl_slist* list = nullptr;
    list = curl_slist_append(list, ("Authorization: Bearer " + options.token).c_str());
    list = curl_slist_append(list, ("Content-Type: " + question.content_type).c_str());
    list = curl_slist_append(list, "Expect:");
    const core::Handle<curl_slist, curl_slist_free_all> headers{list};
    ApiAnswer answer;
    curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_PROXY, "");
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers.get());
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, static_cast<long>(options.timeout.count()));
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, &answer.body);
    curl_easy_setopt(curl, CURLOPT_SSL_VERIFYPEER, options.insecure ? 0L : 1L);
    curl_easy_setopt(curl, CURLOPT_SSL_VERIFYHOST, options.insecure ? 0L : 2L);
    if (!options.ca_file.empty()) {
        curl_easy_setopt(curl, CURLOPT_CAINFO, options.ca_file.c_str());
    }
    if (question.method != "GET" && question.method != "DELETE") {
        curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE, static_cast<long>(question.body.size()));
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, question.body.data());
    }
    curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, question.method.c_str());
    const CURLcode outcome = curl_easy_perform(curl);
    if (outcome != CURLE_OK) {
        const auto fault =
            outcome == CURLE_OPERATION_TIMEDOUT ? core::Fault::timed_out : core::Fault::unavailable;
        return core::fail(fault, options.origin + ": " + curl_easy_strerror(outcome));
    }
    long status = 0;
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    answer.status = static_cast<int>(status);
    return answer;
}

ApiClient::ApiClient(Options options) : impl_(std::make_unique<Impl>()) {
    impl_->options = std::move(options);
}

ApiClient::~ApiClient() = default;

core::Result<ApiAnswer> ApiClient::ask(const Question& question) {
    const auto until = steady_clock::now() + impl_->options.patience;
    for (;;) {
        auto answer = impl_->ask_once(question);
        const bool starting = answer && answer->status == kUnavailable &&
                              answer->body.find(kStarting) != std::string::npos;
        if (!starting || steady_clock::now() >= until) return answer;
        std::this_thread::sleep_for(kAskAgain);
    }
}

}  // namespace beckon::cli
