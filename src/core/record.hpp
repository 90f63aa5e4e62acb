#pragma once

#include "core/clock.hpp"
#include "core/ids.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace beckon::core {

/// `name` has static storage: a constant of records/headers.hpp, records/receipt.hpp or
/// core/client_code.hpp.
struct Header {
    std::string_view name;
    std::string value;
    bool operator==(const Header&) const = default;
};

/// A record to publish. `value` absent = null (a tombstone, a read barrier); empty is not null.
struct Record {
    std::string key;
    std::optional<std::string> value;
    std::vector<Header> headers;
    bool operator==(const Record&) const = default;
};

struct HeaderView {
    std::string_view name;
    std::string_view value;
};

/// A record that was read. All views are valid only during the call that passes it on.
struct RecordView {
    Offset offset = 0;
    Timestamp time{};  ///< append time, given by the log
    std::string_view key;
    std::optional<std::string_view> value;
    std::span<const HeaderView> headers;

    /// The first header of that name.
    std::optional<std::string_view> header(std::string_view name) const {
        for (const auto& h : headers) {
            if (h.name == name) return h.value;
        }
        return std::nullopt;
    }
};

}  // namespace beckon::core
