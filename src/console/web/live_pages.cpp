#include "console/web/live_pages.hpp"

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

}  // namespace beckon::console
