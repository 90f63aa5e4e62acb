#pragma once

#include "core/record.hpp"
#include "log/topic.hpp"

#include <string>

/// A record of the log as the console shows it: without names that let a reader act for a client
/// (UAIDs, message ids), and without values that hold tokens, URLs or secrets. Pure.
namespace beckon::console {

struct ShownRecord {
    std::string key;       ///< clients by their names in log lines
    std::string words;     ///< a sentence; empty: none is known
    bool message = false;  ///< it is about one message, by which Find knows it
    bool client = false;   ///< likewise about one client
};

ShownRecord shown_record(log::TopicPartition where, const core::RecordView& record);

/// The value of a header; a message id, which lets its reader delete the message, is left out.
std::string shown_header(log::TopicPartition where, const core::HeaderView& header);

/// Why the value is not shown; empty: it is.
std::string_view withheld(log::TopicPartition where, const core::RecordView& record);

}  // namespace beckon::console
