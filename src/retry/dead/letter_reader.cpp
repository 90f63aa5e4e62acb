#include "retry/dead/letter_reader.hpp"

#include <algorithm>
#include <utility>

namespace beckon::retry {

LetterReader::LetterReader(core::Partition partition, std::vector<core::Offset> offsets,
                           log::EventLog& log, core::Executor& executor, Done done)
    : offsets_(std::move(offsets)),
      done_(std::move(done)),
      scan_(
          log, {log::Topic::kRetryDead, partition}, {offsets_.front(), offsets_.back() + 1},
          executor, [this](const auto& record) { return keep(record); },
          [this](const auto& read_up_to) { end(read_up_to); }) {}

log::Next LetterReader::keep(const core::RecordView& record) {
    if (!std::binary_search(offsets_.begin(), offsets_.end(), record.offset)) {
        return log::Next::go_on;
    }
    auto delivery = decode_delivery(record);
    if (!delivery) return log::Next::go_on;
    bytes_ += delivery->event.size();
    found_.letters.push_back({record.offset, record.time, std::move(*delivery)});
    return bytes_ < kBytesMax ? log::Next::go_on : log::Next::stop;
}

void LetterReader::end(const core::Result<core::Offset>& read_up_to) {
    const auto done = std::move(done_);  // it may destroy the reader
    if (!read_up_to) return done(core::fail(read_up_to.error()));
    found_.read_up_to = *read_up_to;
    done(std::move(found_));
}

}  // namespace beckon::retry
