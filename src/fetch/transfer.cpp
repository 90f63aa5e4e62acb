#include "fetch/transfer.hpp"

#include <utility>

namespace beckon::fetch {

using core::Error;
using core::Fault;

Easy make_easy() {
    static const CURLcode started = curl_global_init(CURL_GLOBAL_DEFAULT);
    static_cast<void>(started);
    return Easy{curl_easy_init()};
}

void HeaderLines::add(const std::string& line) {
    auto* const longer = curl_slist_append(lines_.get(), line.c_str());
    static_cast<void>(lines_.release());  // it is part of the longer one
    lines_.reset(longer);
}

Transfer::Transfer(CURL* easy, const Options& options)
    : easy_(easy), body_bytes_max_(options.body_bytes_max), why_(CURL_ERROR_SIZE, '\0') {
    curl_easy_setopt(easy_, CURLOPT_URL, options.url.c_str());  // libcurl copies it
    curl_easy_setopt(easy_, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy_, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy_, CURLOPT_PROXY, "");
    curl_easy_setopt(easy_, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy_, CURLOPT_TIMEOUT_MS, static_cast<long>(options.timeout.count()));
    curl_easy_setopt(easy_, CURLOPT_ERRORBUFFER, why_.data());
    curl_easy_setopt(easy_, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(easy_, CURLOPT_WRITEDATA, this);
}

/// The handle may be used again, by another transfer.
Transfer::~Transfer() {
    curl_easy_setopt(easy_, CURLOPT_ERRORBUFFER, nullptr);
    curl_easy_setopt(easy_, CURLOPT_WRITEFUNCTION, nullptr);
    curl_easy_setopt(easy_, CURLOPT_WRITEDATA, nullptr);
    curl_easy_setopt(easy_, CURLOPT_HTTPHEADER, nullptr);
}

void Transfer::trust(const Trust& trust) {
    curl_easy_setopt(easy_, CURLOPT_SSL_VERIFYPEER, trust.insecure ? 0L : 1L);
    curl_easy_setopt(easy_, CURLOPT_SSL_VERIFYHOST, trust.insecure ? 0L : 2L);
    if (!trust.ca_file.empty()) curl_easy_setopt(easy_, CURLOPT_CAINFO, trust.ca_file.c_str());
}

void Transfer::headers(const HeaderLines& lines) {
    curl_easy_setopt(easy_, CURLOPT_HTTPHEADER, lines.get());
}

std::size_t Transfer::on_body(char* data, std::size_t size, std::size_t count,
                              void* user) noexcept {
    auto& transfer = *static_cast<Transfer*>(user);
    auto& body = transfer.answer_.body;
    transfer.too_long_ = body.size() + size * count > transfer.body_bytes_max_;
    if (transfer.too_long_) return 0;
    body.append(data, size * count);
    return size * count;
}

core::Result<Transfer::Answer> Transfer::perform() {
    if (const auto outcome = curl_easy_perform(easy_); outcome != CURLE_OK) {
        return core::fail(error_of(outcome));
    }
    long status = 0;
    curl_easy_getinfo(easy_, CURLINFO_RESPONSE_CODE, &status);
    answer_.status = static_cast<int>(status);
    return std::move(answer_);
}

Error Transfer::error_of(CURLcode outcome) const {
    if (too_long_) {
        return {Fault::too_large,
                "the answer is longer than " + std::to_string(body_bytes_max_) + " bytes"};
    }
    const auto fault = outcome == CURLE_OPERATION_TIMEDOUT ? Fault::timed_out : Fault::unavailable;
    return {fault, why_.front() != '\0' ? why_.c_str() : curl_easy_strerror(outcome)};
}

}  // namespace beckon::fetch
