#include "edge/broadcast/broadcast_poller.hpp"

#include "core/json_text.hpp"
#include "fetch/transfer.hpp"

#include <chrono>
#include <utility>

#include <nlohmann/json.hpp>
#include <pthread.h>

namespace beckon::edge {

BroadcastPoller::BroadcastPoller(std::string url, core::Duration interval, Polled polled)
    : url_(std::move(url)),
      interval_(interval),
      polled_(std::move(polled)),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

void BroadcastPoller::enable(bool enabled) {
    const std::scoped_lock lock{mutex_};
    if (enabled_ == enabled) return;
    enabled_ = enabled;
    changed_.notify_all();
}

void BroadcastPoller::run(const std::stop_token& stop) {
    pthread_setname_np(pthread_self(), "edge-broadcasts");
    for (;;) {
        {
            std::unique_lock lock{mutex_};
            if (!changed_.wait(lock, stop, [this] { return enabled_; })) return;
        }
        const auto body = fetch_page(url_, stop);
        if (stop.stop_requested()) return;
        if (body) {
            polled_(parse_broadcasts(*body));
        } else {
            polled_(core::fail(body.error()));
        }
        std::unique_lock lock{mutex_};
        changed_.wait_for(lock, stop, interval_, [this] { return !enabled_; });
        if (stop.stop_requested()) return;
    }
}

using core::Fault;
using nlohmann::json;

namespace {

constexpr std::chrono::seconds kFetchTimeout{5};
constexpr long kRedirectsMax = 5;
constexpr std::size_t kPageBytesMax = 1U << 20;

int on_progress(void* user, curl_off_t, curl_off_t, curl_off_t, curl_off_t) noexcept {
    return static_cast<const std::stop_token*>(user)->stop_requested() ? 1 : 0;
}

tl::unexpected<core::Error> invalid(std::string why) {
    return core::fail(Fault::invalid, std::move(why));
}

}  // namespace

core::Result<std::vector<BroadcastSet>> parse_broadcasts(std::string_view body) {
    const auto page = core::parse_json(body);
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
    const auto curl = fetch::make_easy();
    curl_easy_setopt(curl.get(), CURLOPT_FOLLOWLOCATION, 1L);
    curl_easy_setopt(curl.get(), CURLOPT_MAXREDIRS, kRedirectsMax);
    curl_easy_setopt(curl.get(), CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(curl.get(), CURLOPT_XFERINFOFUNCTION, on_progress);
    curl_easy_setopt(curl.get(), CURLOPT_XFERINFODATA, &stop);
    auto answer =
        fetch::Transfer{curl.get(),
                        {.url = url, .timeout = kFetchTimeout, .body_bytes_max = kPageBytesMax}}
            .perform();
    if (!answer) return core::fail(answer.error());
    if (answer->status / 100 != 2) {
        return core::fail(Fault::unavailable,
                          "the answer has status " + std::to_string(answer->status));
    }
    return std::move(answer->body);
}

}  // namespace beckon::edge
