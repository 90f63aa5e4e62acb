#pragma once

#include "console/web/live_pages.hpp"
#include "net/http/http_message.hpp"

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace beckon::console {

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
