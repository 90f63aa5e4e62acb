#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Broadcasts: ids with versions that concern all clients
/// (docs/protocol/client-protocol.md#broadcasts).
namespace beckon::edge {

/// All broadcasts with their versions at one moment. Never changed once fronts have it, so that all
/// threads share one.
struct Broadcasts {
    /// True once all records of the log are in it: an id that is not in it does not exist.
    bool complete = false;
    std::map<std::string, std::string, std::less<>> versions;

    /// Empty: unknown.
    std::string_view version_of(std::string_view id) const {
        const auto at = versions.find(id);
        return at == versions.end() ? std::string_view{} : std::string_view{at->second};
    }
};
using BroadcastsPtr = std::shared_ptr<const Broadcasts>;

/// The broadcasts that one client follows, with its versions. One thread.
class Follows {
public:
    /// The most broadcasts of one client; further ones are refused.
    static constexpr std::size_t kMax = 64;

    /// The client names broadcasts with the versions that it has. Unknown ones are refused, unless
    /// it is not known yet whether they exist: then they are followed until it is. An id that is
    /// too long for any broadcast is passed over, and such a version is none.
    void name(const std::vector<std::pair<std::string_view, std::string_view>>& named,
              const Broadcasts& now);

    /// The members of `broadcasts` in a frame to the client: versions that it does not have, and
    /// refused ids; empty: there is nothing to send. The client counts as notified afterwards. An
    /// id that does not exist any more is no longer followed.
    std::string take_news(const Broadcasts& now);

    std::size_t size() const { return notified_.size(); }
    /// True if there is nothing to send and nothing to remember.
    bool empty() const { return notified_.empty() && refused_.empty(); }

private:
    struct Refused {
        std::string id;
        std::string_view why;  ///< of static storage
    };
    void refuse(std::string_view id, std::string_view why);

    std::vector<std::pair<std::string, std::string>> notified_;  ///< id, version
    std::vector<Refused> refused_;                               ///< not sent yet
};

}  // namespace beckon::edge
