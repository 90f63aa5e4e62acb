#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace beckon::console {

/// What the console shows now: a JSON text for each page, and who waits for a change of it.
/// Thread-safe.
class LivePages {
public:
    using Text = std::shared_ptr<const std::string>;

    /// Replaces a page; the same text again is no change.
    void publish(const std::string& name, std::string text);
    /// Null: nobody has published it yet.
    Text get(const std::string& name) const;

    /// Which version of each page a reader has been told.
    using Seen = std::map<std::string, std::uint64_t>;
    /// The pages of `names` that are newer than `seen`, which is brought up to date. Waits up to
    /// `wait` for one.
    std::vector<std::pair<std::string, Text>> changes(const std::vector<std::string>& names,
                                                      Seen& seen, std::chrono::milliseconds wait);

    /// From now on nobody waits.
    void stop();
    bool stopped() const;

private:
    struct Page {
        Text text;
        std::uint64_t version = 0;
    };
    std::vector<std::pair<std::string, Text>> newer(const std::vector<std::string>& names,
                                                    Seen& seen) const;

    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::map<std::string, Page> pages_;  ///< under mutex_, as the next
    bool stopped_ = false;
};

}  // namespace beckon::console
