#include "console/web/live_pages.hpp"

namespace beckon::console {

void LivePages::publish(const std::string& name, std::string text) {
    const std::scoped_lock lock{mutex_};
    auto& page = pages_[name];
    if (page.text && *page.text == text) return;
    page.text = std::make_shared<const std::string>(std::move(text));
    ++page.version;
    changed_.notify_all();
}

LivePages::Text LivePages::get(const std::string& name) const {
    const std::scoped_lock lock{mutex_};
    const auto page = pages_.find(name);
    return page == pages_.end() ? nullptr : page->second.text;
}

std::vector<std::pair<std::string, LivePages::Text>> LivePages::newer(
    const std::vector<std::string>& names, Seen& seen) const {
    std::vector<std::pair<std::string, Text>> found;
    for (const auto& name : names) {
        const auto page = pages_.find(name);
        if (page == pages_.end() || seen[name] == page->second.version) continue;
        seen[name] = page->second.version;
        found.emplace_back(name, page->second.text);
    }
    return found;
}

std::vector<std::pair<std::string, LivePages::Text>> LivePages::changes(
    const std::vector<std::string>& names, Seen& seen, std::chrono::milliseconds wait) {
    std::unique_lock lock{mutex_};
    std::vector<std::pair<std::string, Text>> found;
    changed_.wait_for(lock, wait, [&] {
        found = newer(names, seen);
        return stopped_ || !found.empty();
    });
    return found;
}

void LivePages::stop() {
    const std::scoped_lock lock{mutex_};
    stopped_ = true;
    changed_.notify_all();
}

bool LivePages::stopped() const {
    const std::scoped_lock lock{mutex_};
    return stopped_;
}

}  // namespace beckon::console
