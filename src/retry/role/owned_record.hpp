#pragma once

#include "core/record.hpp"

#include <optional>
#include <string>
#include <vector>

namespace beckon::retry {

/// A record that was read, with memory of its own, so that it can go to another thread.
class OwnedRecord {
public:
    explicit OwnedRecord(const core::RecordView& view)
        : offset_(view.offset), time_(view.time), key_(view.key) {
        if (view.value) value_.emplace(*view.value);
        for (const auto& [name, value] : view.headers) {
            headers_.push_back({std::string{name}, std::string{value}});
        }
    }

    /// Calls `f` with a view of it.
    template <class F>
    void visit(F f) const {
        std::vector<core::HeaderView> headers;
        headers.reserve(headers_.size());
        for (const auto& [name, value] : headers_) headers.push_back({name, value});
        core::RecordView view;
        view.offset = offset_;
        view.time = time_;
        view.key = key_;
        if (value_) view.value = *value_;
        view.headers = headers;
        f(view);
    }

private:
    struct Header {
        std::string name;
        std::string value;
    };
    core::Offset offset_;
    core::Timestamp time_;
    std::string key_;
    std::optional<std::string> value_;
    std::vector<Header> headers_;
};

}  // namespace beckon::retry
