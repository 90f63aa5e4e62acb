#include "reliability/history/flow.hpp"

#include "core/bytes.hpp"

#include <algorithm>
#include <bit>

namespace beckon::reliability {

using core::append_varint;
using core::ByteReader;

namespace {

constexpr std::uint32_t kExact = 16;  ///< durations below have a bucket of their own
constexpr int kPartsBits = 3;         ///< eight buckets for each power of two
constexpr std::uint32_t kParts = 1U << kPartsBits;
constexpr int kExactBits = 4;
constexpr std::uint32_t kBuckets = kExact + (64 - kExactBits) * kParts;

std::uint32_t bucket_of(std::uint64_t ms) {
    if (ms < kExact) return static_cast<std::uint32_t>(ms);
    const auto power = static_cast<int>(std::bit_width(ms)) - 1;
    const auto part = static_cast<std::uint32_t>(ms >> (power - kPartsBits)) & (kParts - 1);
    return kExact + static_cast<std::uint32_t>(power - kExactBits) * kParts + part;
}

std::uint64_t middle_of(std::uint32_t bucket) {
    if (bucket < kExact) return bucket;
    const auto power = static_cast<int>((bucket - kExact) / kParts) + kExactBits;
    const std::uint64_t part = (bucket - kExact) % kParts;
    const std::uint64_t width = std::uint64_t{1} << (power - kPartsBits);
    return (kParts + part) * width + width / 2;
}

std::uint64_t number_of(milliseconds duration) {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(duration.count(), 0));
}

}  // namespace

Durations::Durations(milliseconds total, const Buckets& buckets) : sum_ms_(number_of(total)) {
    for (const auto& [bucket, count] : buckets) {
        if (bucket >= kBuckets || count == 0) continue;
        buckets_[bucket] = count;
        count_ += count;
    }
}

void Durations::add(milliseconds duration) {
    ++count_;
    sum_ms_ += number_of(duration);
    ++buckets_[bucket_of(number_of(duration))];
}

void Durations::remove(milliseconds duration) {
    const auto found = buckets_.find(bucket_of(number_of(duration)));
    if (found == buckets_.end()) return;
    --count_;
    sum_ms_ -= std::min(sum_ms_, number_of(duration));
    if (--found->second == 0) buckets_.erase(found);
}

void Durations::add(const Durations& other) {
    count_ += other.count_;
    sum_ms_ += other.sum_ms_;
    for (const auto& [bucket, count] : other.buckets_) buckets_[bucket] += count;
}

milliseconds Durations::mean() const {
    return milliseconds{count_ == 0 ? 0 : static_cast<std::int64_t>(sum_ms_ / count_)};
}

milliseconds Durations::at_quantile(double quantile) const {
    const double wanted = quantile * static_cast<double>(count_);
    std::uint64_t passed = 0;
    for (const auto& [bucket, count] : buckets_) {
        passed += count;
        if (static_cast<double>(passed) >= wanted) {
            return milliseconds{static_cast<std::int64_t>(middle_of(bucket))};
        }
    }
    return milliseconds{0};
}

void Durations::append_to(std::string& out) const {
    append_varint(out, sum_ms_);
    append_varint(out, buckets_.size());
    for (const auto& [bucket, count] : buckets_) {
        append_varint(out, bucket);
        append_varint(out, count);
    }
}

std::optional<Durations> Durations::parse(ByteReader& reader) {
    Durations durations;
    durations.sum_ms_ = reader.varint();
    const auto buckets = reader.varint();
    if (buckets > kBuckets) return std::nullopt;
    for (std::uint64_t i = 0; i < buckets; ++i) {
        const auto bucket = reader.varint();
        const auto count = reader.varint();
        if (!reader.good() || bucket >= kBuckets || count == 0) return std::nullopt;
        durations.buckets_[static_cast<std::uint32_t>(bucket)] = count;
        durations.count_ += count;
    }
    if (!reader.good()) return std::nullopt;
    return durations;
}

std::vector<TimedStep> timed_steps(const History& history) {
    const auto steps = history.steps();
    std::vector<TimedStep> timed;
    for (std::size_t i = 1; i < steps.size(); ++i) {
        const auto took = std::max(steps[i].at - steps[i - 1].at, milliseconds{0});
        timed.push_back({{steps[i - 1].milestone, steps[i].milestone}, took, steps[i].at});
    }
    return timed;
}

void append_flow(std::string& out, const Flow& flow) {
    append_varint(out, flow.size());
    for (const auto& [step, durations] : flow) {
        append_varint(out, core::index_of(step.from));
        append_varint(out, core::index_of(step.to));
        durations.append_to(out);
    }
}

std::optional<Flow> parse_flow(std::string_view bytes) {
    ByteReader reader{bytes};
    Flow flow;
    const auto steps = reader.varint();
    for (std::uint64_t i = 0; i < steps && reader.good(); ++i) {
        const auto from = reader.varint();
        const auto to = reader.varint();
        auto durations = Durations::parse(reader);
        if (!durations || from >= core::kMilestones || to >= core::kMilestones) return std::nullopt;
        flow[{static_cast<Milestone>(from), static_cast<Milestone>(to)}] = std::move(*durations);
    }
    if (!reader.finished()) return std::nullopt;
    return flow;
}

}  // namespace beckon::reliability
