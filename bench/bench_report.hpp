#pragma once

#include "bench/bench.hpp"
#include "bench/load/generator.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace beckon::bench {

/// One rate that the sustained profile tried.
struct SustainedTrial {
    double rate = 0;
    std::int64_t p99_ns = 0;  ///< POST to frame
    std::string why;          ///< it was too much; empty: the server kept up
};

/// The results of a run of `bench`, as a table for a person and as JSON for a program.
class BenchReport {
public:
    explicit BenchReport(const BenchOptions& options);
    ~BenchReport();

    void add(const std::string& profile, const Traffic& traffic);
    /// Messages that were sent to clients that are away.
    void add_fill(std::uint64_t messages, double seconds);
    void add(const IdleMemory& memory);
    void add(const std::vector<DrainRound>& rounds);
    /// `rate`: the highest that the server kept up with, 0 if none; `traffic`: the measurements of
    /// its trial. A rate that was too high makes no report unsound.
    void add(double rate, const std::vector<SustainedTrial>& trials,
             const std::optional<Traffic>& traffic);

    std::string table() const { return table_; }
    std::string document() const;
    /// No accepted message is missing and no client was lost.
    bool sound() const { return sound_; }

private:
    struct Document;

    std::unique_ptr<Document> document_;
    std::string table_;
    bool sound_ = true;
};

}  // namespace beckon::bench
