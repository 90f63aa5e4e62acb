#pragma once

#include "console/web/late_text.hpp"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace beckon::console {

/// What the console shows now: a JSON text for each page, and who waits for a change of it.
/// Thread-safe.
class LivePages {
public:
    using Text = LateText::Text;

    /// Replaces a page; the same text again is no change.
    void publish(const std::string& name, std::string text);

    /// A page whose text is made only if somebody asks for it.
    struct Source {
        std::function<std::string()> whole;
        /// For whoever has the page that was published before: what has changed since. Empty text:
        /// it has to be told all. May be empty.
        std::function<std::string()> change = {};
    };
    /// Replaces a page, which is always a change.
    void publish(const std::string& name, Source source);

    /// Null: nobody has published it yet.
    Text get(const std::string& name) const;

    /// What a reader is told of a page.
    struct News {
        std::string name;
        bool whole = true;  ///< false: a Source's `change`
        Text text;
    };
    /// Which version of each page a reader has been told.
    using Seen = std::map<std::string, std::uint64_t>;
    /// The pages of `names` that are newer than `seen`, which is brought up to date. Waits up to
    /// `wait` for one.
    std::vector<News> changes(const std::vector<std::string>& names, Seen& seen,
                              std::chrono::milliseconds wait);

    /// From now on nobody waits.
    void stop();
    bool stopped() const;

private:
    struct Page {
        std::shared_ptr<LateText> whole;
        std::shared_ptr<LateText> change;  ///< from the version before; null: there is none
        std::uint64_t version = 0;
    };
    /// A page, and the version that its reader has; 0: none.
    struct Newer {
        std::string name;
        Page page;
        std::uint64_t has = 0;
    };
    std::vector<Newer> newer(const std::vector<std::string>& names, Seen& seen) const;
    static News news(const Newer& one);

    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::map<std::string, Page> pages_;  ///< under mutex_, as the next
    bool stopped_ = false;
};

}  // namespace beckon::console
