#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace beckon::console {

/// A text that is made at its first read, and never without one. Thread-safe: other readers
/// meanwhile wait for it.
class LateText {
public:
    using Text = std::shared_ptr<const std::string>;

    explicit LateText(std::function<std::string()> make) : make_(std::move(make)) {}

    Text get() {
        const std::scoped_lock lock{mutex_};
        if (!text_) {
            text_ = std::make_shared<const std::string>(make_());
            make_ = nullptr;  // the source of the text
        }
        return text_;
    }

private:
    std::mutex mutex_;
    std::function<std::string()> make_;  ///< under mutex_, as the next
    Text text_;
};

}  // namespace beckon::console
