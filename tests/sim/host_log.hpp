#pragma once

#include "core/clock.hpp"
#include "log/event_log.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace beckon::sim {

/// The log as one host reaches it. While its connection to the brokers is cut, for this host alone,
/// its publishes wait for the connection or for their time-out, answers to earlier ones are lost,
/// its readers get nothing, its heartbeats are lost, and it is notified of no change in its groups.
/// Outlives all readers, publishers and members that it opens.
class HostLog final : public log::EventLog {
public:
    HostLog(log::EventLog& log, const core::Clock& clock);
    ~HostLog() override;
    HostLog(const HostLog&) = delete;
    HostLog& operator=(const HostLog&) = delete;

    void set_away(bool away);

    std::unique_ptr<log::Publisher> open_publisher(core::Executor& executor) override;
    std::unique_ptr<log::PartitionReader> open_reader(log::TopicPartition where, core::Offset from,
                                                      core::Executor& executor,
                                                      std::function<void()> ready) override;
    void ends(log::TopicPartition where, core::Executor& executor,
              std::function<void(core::Result<log::Ends>)> done) override;
    void commit(std::string group, std::vector<log::GroupOffset> offsets, core::Executor& executor,
                std::function<void(core::Result<void>)> done) override;
    void committed(std::string group, std::vector<log::TopicPartition> partitions,
                   core::Executor& executor,
                   std::function<void(core::Result<std::vector<log::GroupOffset>>)> done) override;
    std::unique_ptr<log::Member> join(log::MemberOptions options, core::Executor& executor,
                                      std::function<void(const log::Members&)> changed) override;
    core::MissingTime missing_time() const override { return log_.missing_time(); }

private:
    struct Route;
    class HostPublisher;
    class HostReader;
    class HostMember;

    log::EventLog& log_;
    const std::unique_ptr<Route> route_;
};

}  // namespace beckon::sim
