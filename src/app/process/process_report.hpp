#pragma once

#include "app/config/config.hpp"
#include "app/process/certificates.hpp"
#include "app/process/housekeeping.hpp"
#include "core/clock.hpp"
#include "log/blocking_executor.hpp"
#include "log/event_log.hpp"
#include "ops/health.hpp"
#include "ops/metrics.hpp"
#include "records/process.hpp"

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace beckon::app {

/// The report of a process on itself: its readiness and the numbers that the console shows. Any
/// thread.
class ProcessReport {
public:
    /// `role`: as in ProcessRecord. `ops_port`: people find the process on its host by it.
    ProcessReport(const std::string& role, const Config& config, std::uint16_t ops_port,
                  const core::Clock& clock, const ops::Metrics& metrics, const ops::Health& health);

    cluster::ProcessRecord now() const;

private:
    const cluster::ProcessRecord same_;  ///< the fields that do not change
    const std::filesystem::path data_;
    const std::vector<CertificateFile> certificates_;
    const core::Clock& clock_;
    const ops::Metrics& metrics_;
    const ops::Health& health_;
    const std::shared_ptr<const ingest::RefusedSends> refused_;
    const std::shared_ptr<const ingest::BusiestSenders> busiest_;
};

/// The numbers of a process that the console shows, from its metrics. Pure.
struct ProcessNumbers {
    std::map<std::string, double> counters;
    std::map<std::string, double> gauges;
    std::vector<core::Offset> view;  ///< ProcessRecord::view
};
ProcessNumbers numbers_of(const std::vector<prometheus::MetricFamily>& families);

/// Publishes the report of a process in the log topic `ownership`, every kProcessEvery, and at its
/// end that the process has ended as it was asked to. A log that does not take the records costs
/// the process nothing but one line in its log.
class ProcessReporter {
public:
    /// How long the end waits for the log.
    static constexpr std::chrono::seconds kEndWithin{1};

    /// Both outlive it.
    ProcessReporter(const ProcessReport& report, log::EventLog& log)
        : report_(report), publisher_(log.open_publisher(executor_)) {}
    ~ProcessReporter();
    ProcessReporter(const ProcessReporter&) = delete;
    ProcessReporter& operator=(const ProcessReporter&) = delete;

    /// A chore.
    void look();

private:
    void publish(const cluster::ProcessRecord& record);
    void finish(core::Duration within);

    const ProcessReport& report_;
    bool well_ = true;
    Due due_;
    log::BlockingExecutor executor_;
    const std::unique_ptr<log::Publisher> publisher_;  ///< last: it calls us
};

}  // namespace beckon::app
