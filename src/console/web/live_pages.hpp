#pragma once

#include "net/http/http_message.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

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

/// The present JSON text of each page, and the readers that are notified of a change.
/// Thread-safe.
class LivePages {
public:
    using Text = LateText::Text;

    /// Replaces a page; the same text again is no change.
    void publish(const std::string& name, std::string text);

    /// A page whose text is made only when a reader asks for it.
    struct Source {
        std::function<std::string()> whole;
        /// The changes since the page published before, for readers that have it. Empty text: the
        /// whole page has to be sent. May be empty.
        std::function<std::string()> change = {};
    };
    /// Replaces a page, which is always a change.
    void publish(const std::string& name, Source source);

    /// Null: it has not been published yet.
    Text get(const std::string& name) const;

    /// An update of a page, as a reader receives it.
    struct News {
        std::string name;
        bool whole = true;  ///< false: a Source's `change`
        Text text;
    };
    /// The version of each page that a reader has.
    using Seen = std::map<std::string, std::uint64_t>;
    /// The pages of `names` that are newer than `seen`, which is brought up to date.
    std::vector<News> changes(const std::vector<std::string>& names, Seen& seen) const;

    /// Calls `changed` after each change, on the publisher's thread, which it must not block. Null:
    /// no more notifications; when this returns, none is under way.
    void on_change(std::function<void()> changed);

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
    std::map<std::string, Page> pages_;  ///< under mutex_
    std::mutex notify_mutex_;
    std::function<void()> changed_;  ///< under notify_mutex_, also while it is called
};

/// The changes of some pages as server-sent events. A reader that is behind gets the present pages
/// and not the earlier ones. The thread of its connection.
class LiveStream final : public net::BodyStream {
public:
    /// The most bytes that next() returns at a time.
    static constexpr std::size_t kPieceBytesMax = 65'536;

    struct Options {
        std::vector<std::string> names;  ///< of the pages
        /// Whether its reader may see more; false ends the stream.
        std::function<bool()> may_go_on;
        std::function<void()> ended;  ///< called by the destructor
    };
    /// `pages` outlives it.
    LiveStream(const LivePages& pages, Options options);
    ~LiveStream() override;
    LiveStream(const LiveStream&) = delete;
    LiveStream& operator=(const LiveStream&) = delete;

    void start(std::function<void()> wake) override { wake_ = std::move(wake); }
    Next next(std::string& out) override;

    /// A page may have changed, or whether it may go on.
    void notify();
    /// Sends a sign of life, if it has sent nothing since the last call.
    void beat();

private:
    void collect();

    const LivePages& pages_;
    const Options options_;
    LivePages::Seen seen_;
    std::string text_;  ///< of events, from `at_` on not given yet
    std::size_t at_ = 0;
    bool spoke_ = true;  ///< since the last beat()
    bool beat_due_ = false;
    std::function<void()> wake_;
};

}  // namespace beckon::console
