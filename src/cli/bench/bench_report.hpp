#pragma once

#include "cli/bench/bench.hpp"
#include "client/load/generator.hpp"

#include <memory>
#include <string>
#include <vector>

namespace beckon::cli {

/// What a run of `bench` measured, as a table for a person and as JSON for a program.
class BenchReport {
public:
    explicit BenchReport(const BenchOptions& options);
    ~BenchReport();

    void add(const std::string& profile, const client::load::Traffic& traffic);
    void add(const client::load::IdleMemory& memory);
    void add(const std::vector<client::load::DrainRound>& rounds);

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

}  // namespace beckon::cli
