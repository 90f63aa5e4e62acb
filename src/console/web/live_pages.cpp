#include "console/web/live_pages.hpp"

#include <algorithm>
#include <utility>

namespace beckon::console {

void LivePages::publish(const std::string& name, std::string text) {
    if (const auto before = get(name); before && *before == text) return;
    publish(name, Source{.whole = [kept = std::move(text)] { return kept; }});
}

void LivePages::publish(const std::string& name, Source source) {
    auto whole = std::make_shared<LateText>(std::move(source.whole));
    auto change = source.change ? std::make_shared<LateText>(std::move(source.change)) : nullptr;
    {
        const std::scoped_lock lock{mutex_};
        auto& page = pages_[name];
        page = {std::move(whole), std::move(change), page.version + 1};
    }
    const std::scoped_lock lock{notify_mutex_};
    if (changed_) changed_();
}

LivePages::Text LivePages::get(const std::string& name) const {
    std::shared_ptr<LateText> text;
    {
        const std::scoped_lock lock{mutex_};
        if (const auto page = pages_.find(name); page != pages_.end()) text = page->second.whole;
    }
    return text ? text->get() : nullptr;
}

std::vector<LivePages::Newer> LivePages::newer(const std::vector<std::string>& names,
                                               Seen& seen) const {
    std::vector<Newer> found;
    for (const auto& name : names) {
        const auto page = pages_.find(name);
        if (page == pages_.end() || seen[name] == page->second.version) continue;
        found.push_back({name, page->second, seen[name]});
        seen[name] = page->second.version;
    }
    return found;
}

LivePages::News LivePages::news(const Newer& one) {
    const bool has_the_last = one.has > 0 && one.has + 1 == one.page.version;
    if (one.page.change && has_the_last) {
        auto change = one.page.change->get();
        if (!change->empty()) return {one.name, false, std::move(change)};
    }
    return {one.name, true, one.page.whole->get()};
}

std::vector<LivePages::News> LivePages::changes(const std::vector<std::string>& names,
                                                Seen& seen) const {
    std::vector<Newer> found;
    {
        const std::scoped_lock lock{mutex_};
        found = newer(names, seen);
    }
    std::vector<News> reported;
    reported.reserve(found.size());
    for (const auto& one : found) reported.push_back(news(one));
    return reported;
}

void LivePages::on_change(std::function<void()> changed) {
    const std::scoped_lock lock{notify_mutex_};
    changed_ = std::move(changed);
}

namespace {

/// A comment of the stream, which readers leave out.
constexpr std::string_view kBeat = ": still here\n\n";

std::string event_text(const LivePages::News& news) {
    const std::string_view kind = news.whole ? "" : ".change";
    // JSON has no line ends of its own.
    return "event: " + news.name + std::string{kind} + "\ndata: " + *news.text + "\n\n";
}

}  // namespace

LiveStream::LiveStream(const LivePages& pages, Options options)
    : pages_(pages), options_(std::move(options)) {}

LiveStream::~LiveStream() { options_.ended(); }

net::BodyStream::Next LiveStream::next(std::string& out) {
    if (!options_.may_go_on()) return Next::ended;
    if (at_ == text_.size()) collect();
    if (text_.empty()) return Next::waiting;
    const auto size = std::min(text_.size() - at_, kPieceBytesMax);
    out.append(text_, at_, size);
    at_ += size;
    spoke_ = true;
    return Next::piece;
}

void LiveStream::collect() {
    text_ = {};  // a page may be large, and readers stay for hours
    at_ = 0;
    for (const auto& news : pages_.changes(options_.names, seen_)) text_ += event_text(news);
    if (text_.empty() && beat_due_) text_ = kBeat;
    beat_due_ = false;
}

void LiveStream::notify() {
    if (wake_) wake_();
}

void LiveStream::beat() {
    beat_due_ = !std::exchange(spoke_, false);
    if (beat_due_) notify();
}

}  // namespace beckon::console
