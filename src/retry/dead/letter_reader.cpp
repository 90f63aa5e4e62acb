#include "retry/dead/letter_reader.hpp"

#include "core/lifetime.hpp"

#include <algorithm>
#include <utility>

namespace beckon::retry {

using core::Fault;
using core::Offset;

namespace {

constexpr std::size_t kTakeMax = 64;

}  // namespace

struct LetterReader::Impl {
    Impl(std::vector<Offset> o, core::Executor& x, Done d)
        : offsets(std::move(o)), executor(x), done(std::move(d)) {}

    const std::vector<Offset> offsets;
    core::Executor& executor;
    Done done;
    std::unique_ptr<log::PartitionReader> reader;
    Found found;
    std::size_t bytes = 0;
    core::Lifetime lifetime{executor};

    void read();
    void keep(const core::RecordView& record);
    void end(core::Result<Found> result);
    void found_all();
};

void LetterReader::Impl::read() {
    while (reader && reader->position() <= offsets.back() && bytes < kBytesMax) {
        const auto taken = reader->take(kTakeMax, [this](const auto& record) { keep(record); });
        if (!taken && taken.error().fault == Fault::unavailable) return;  // `ready` comes
        if (!taken) return end(core::fail(taken.error()));
        if (taken->drained) break;
    }
    if (reader) found_all();
}

void LetterReader::Impl::keep(const core::RecordView& record) {
    if (bytes >= kBytesMax) return;
    if (!std::binary_search(offsets.begin(), offsets.end(), record.offset)) return;
    auto delivery = decode_delivery(record);
    if (!delivery) return;
    bytes += delivery->event.size();
    found.letters.push_back({record.offset, record.time, std::move(*delivery)});
}

void LetterReader::Impl::found_all() {
    const bool whole = bytes < kBytesMax;
    found.read_up_to = whole ? reader->position() : found.letters.back().offset + 1;
    end(std::move(found));
}

void LetterReader::Impl::end(core::Result<Found> result) {
    reader.reset();
    executor.post(lifetime.guard([this, result = std::move(result)]() mutable {
        if (const auto answer = std::exchange(done, {})) answer(std::move(result));
    }));
}

LetterReader::LetterReader(core::Partition partition, std::vector<Offset> offsets,
                           log::EventLog& log, core::Executor& executor, Done done)
    : impl_(std::make_unique<Impl>(std::move(offsets), executor, std::move(done))) {
    impl_->reader = log.open_reader({log::Topic::kRetryDead, partition}, impl_->offsets.front(),
                                    executor, impl_->lifetime.guard([this] { impl_->read(); }));
    executor.post_after(kTimeout, impl_->lifetime.guard([this] {
        if (!impl_->reader) return;
        impl_->end(core::fail(Fault::timed_out, "the log does not deliver the dead letters"));
    }));
}

LetterReader::~LetterReader() = default;

}  // namespace beckon::retry
