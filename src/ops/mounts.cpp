#include "ops/mounts.hpp"

#include "core/percent.hpp"
#include "net/http/http_message.hpp"

#include <algorithm>
#include <utility>

namespace beckon::ops {

namespace {

std::string rest_of(std::string_view path, const std::string& prefix) {
    return core::percent_decoded(path.substr(prefix.size()));
}

}  // namespace

void Mounts::add(const std::string& prefix, PageMaker maker) {
    const std::scoped_lock lock{mutex_};
    makers_.insert_or_assign(prefix, std::move(maker));
}

void Mounts::add_late(const std::string& prefix, LatePageMaker maker) {
    const std::scoped_lock lock{mutex_};
    late_.insert_or_assign(prefix, std::move(maker));
}

void Mounts::add_metrics(const std::string& name, MetricsMaker maker) {
    const std::scoped_lock lock{mutex_};
    metrics_.insert_or_assign(name, std::move(maker));
}

void Mounts::remove(const std::string& name) {
    LateMakers::node_type late;  // ends without the lock: it may wait for a page under way
    const std::scoped_lock lock{mutex_};
    makers_.erase(name);
    metrics_.erase(name);
    late = late_.extract(name);
}

std::string Mounts::metrics() {
    const std::scoped_lock lock{mutex_};
    std::string text;
    for (const auto& [name, maker] : metrics_) text += maker();
    return text;
}

std::optional<Page> Mounts::answer(std::string_view text) {
    const auto target = net::split_target(text);
    const std::scoped_lock lock{mutex_};
    for (const auto& [prefix, maker] : makers_) {
        if (!target.path.starts_with(prefix + "/")) continue;
        return maker(rest_of(target.path, prefix), net::query_by_name(target.query));
    }
    return std::nullopt;
}

bool Mounts::is_late(std::string_view target) {
    const std::scoped_lock lock{mutex_};
    return maker_of(net::split_target(target).path) != nullptr;
}

void Mounts::answer_late(const net::HttpRequest& request, PageDone done) {
    const auto target = net::split_target(request.target);
    const auto proof = request.headers.get(net::HeaderName::authorization);
    const std::scoped_lock lock{mutex_};
    const auto* entry = maker_of(target.path);
    if (!entry) return done({.status = net::kNotFound, .body = "{}"});
    entry->second({.path = rest_of(target.path, entry->first),
                   .query = net::query_by_name(target.query),
                   .authorization = std::string{proof.value_or("")}},
                  std::move(done));
}

const Mounts::LateMakers::value_type* Mounts::maker_of(std::string_view path) const {
    const auto found = std::ranges::find_if(
        late_, [&](const auto& entry) { return path.starts_with(entry.first + "/"); });
    return found == late_.end() ? nullptr : &*found;
}

}  // namespace beckon::ops
