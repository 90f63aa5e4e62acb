#pragma once

#include "net/http/http_message.hpp"
#include "ops/ops_server.hpp"

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace beckon::ops {

/// The pages of the ops port that parts of the process answer, by prefix. Thread-safe; a mount ends
/// when no page of it is being made.
class Mounts {
public:
    void add(const std::string& prefix, PageMaker maker);
    void add_late(const std::string& prefix, LatePageMaker maker);
    /// By prefix, or the name of metrics.
    void remove(const std::string& name);
    void add_metrics(const std::string& name, MetricsMaker maker);

    /// Calls the makers of metrics; their texts.
    std::string metrics();
    /// nullopt: no mount answers this target.
    std::optional<Page> answer(std::string_view target);
    /// True if a mount answers this target later, through `done`.
    bool is_late(std::string_view target);
    void answer_late(const net::HttpRequest& request, PageDone done);

private:
    using LateMakers = std::map<std::string, LatePageMaker>;
    /// Under the mutex.
    const LateMakers::value_type* maker_of(std::string_view path) const;

    std::mutex mutex_;
    std::map<std::string, PageMaker> makers_;  ///< under mutex_, as all others
    LateMakers late_;
    std::map<std::string, MetricsMaker> metrics_;
};

}  // namespace beckon::ops
