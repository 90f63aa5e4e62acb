#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

namespace beckon::ops {

/// Whether this process can do its work. Parts report; probes ask. Readiness fails fast (any part
/// not ready), liveness slowly (only for faults that a restart would mend). Thread-safe.
class Health {
public:
    /// A part is not ready until it has reported so; `why` names the cause, for the person on call.
    void set_ready(std::string_view part, bool ready, std::string_view why = {});
    /// A hung loop or a corrupt store: a restart would help. An empty `why` takes it back.
    void set_dead(std::string_view part, std::string_view why);
    /// Asks `why_dead` in each report, as set_dead() would be told; it never waits. Null: not any
    /// more.
    void watch(const std::string& part, std::function<std::string()> why_dead);
    /// Something that a person must mend while the process goes on with the rest of its work; an
    /// empty `why` takes it back.
    void set_warning(std::string_view what, std::string_view why);

    struct Report {
        bool ready = false;
        bool live = true;
        std::map<std::string, std::string> faults;  ///< part → why
        std::map<std::string, std::string>
            warnings;  ///< by subject, with the reason; they decide nothing
        std::map<std::string, std::string> parts;  ///< all of them; part → why not ready, or empty
    };
    Report report() const;
    /// Why a part is not ready; empty: it is, or has not reported.
    std::string fault(std::string_view part) const;

private:
    mutable std::mutex mutex_;
    std::map<std::string, std::string, std::less<>> parts_;  ///< part → why not; empty = ready
    std::map<std::string, std::string, std::less<>> dead_;
    std::map<std::string, std::string, std::less<>> warnings_;
    std::map<std::string, std::function<std::string()>> watched_;  ///< part → why dead, or empty
};

}  // namespace beckon::ops
