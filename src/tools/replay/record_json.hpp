#pragma once

#include "core/record.hpp"
#include "log/topic.hpp"

#include <string>

namespace beckon::tools {

struct RecordJsonOptions {
    bool values = false;  ///< the values too, in base64url
};

/// Appends a record as one line of JSON:
///   {"topic", "partition", "offset", "time" (ms), "key", "bytes" (null: a tombstone or a read
///   barrier),
///    "headers": {…}, "value"}
/// Bytes of key and headers that are not ASCII stand as the code points of their numbers. Made by
/// hand, since a library's tree of each record would cost more than reading it.
void append_json(std::string& out, log::TopicPartition where, const core::RecordView& record,
                 const RecordJsonOptions& options);

}  // namespace beckon::tools
