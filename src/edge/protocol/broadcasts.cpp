#include "edge/protocol/broadcasts.hpp"

#include "edge/protocol/frames.hpp"
#include "records/broadcast.hpp"

#include <algorithm>

namespace beckon::edge {

namespace {

constexpr std::string_view kNotFound = "Broadcast not found";
constexpr std::string_view kTooMany = "Too many broadcasts";

void append_broadcast(std::string& out, std::string_view name, std::string_view value) {
    if (!out.empty() && out.back() != '{') out.push_back(',');
    append_json_utf8(out, name);
    out.push_back(':');
    append_json_utf8(out, value);
}

}  // namespace

void Follows::refuse(std::string_view id, std::string_view why) {
    if (refused_.size() < kMax) refused_.push_back({std::string{id}, why});
}

void Follows::name(const std::vector<std::pair<std::string_view, std::string_view>>& named,
                   const Broadcasts& now) {
    for (const auto& [id, given] : named) {
        if (id.size() > kBroadcastIdMax) continue;
        const auto version = given.size() > kBroadcastVersionMax ? std::string_view{} : given;
        const bool unknown = now.version_of(id).empty();
        if (unknown && now.complete) {
            refuse(id, kNotFound);
            continue;
        }
        const auto at =
            std::find_if(notified_.begin(), notified_.end(),
                         [&id = id](const auto& reported) { return reported.first == id; });
        if (at != notified_.end()) {
            at->second = version;
        } else if (notified_.size() < kMax) {
            notified_.emplace_back(id, version);
        } else {
            refuse(id, kTooMany);
        }
    }
}

std::string Follows::take_news(const Broadcasts& now) {
    std::string out;
    std::erase_if(notified_, [&](auto& reported) {
        const auto version = now.version_of(reported.first);
        if (version.empty()) return now.complete;
        if (version == reported.second) return false;
        reported.second = version;
        append_broadcast(out, reported.first, version);
        return false;
    });
    if (refused_.empty()) return out;
    if (!out.empty()) out.push_back(',');
    out.append(R"("errors":{)");
    for (const auto& [id, why] : refused_) append_broadcast(out, id, why);
    out.push_back('}');
    refused_ = {};
    return out;
}

}  // namespace beckon::edge
