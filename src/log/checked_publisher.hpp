#pragma once

#include "core/lifetime.hpp"
#include "log/event_log.hpp"

#include <functional>
#include <memory>
#include <vector>

namespace beckon::log {

/// Publishes only records that can be read back: it decodes each record, as its readers will,
/// before it goes to the log. The check reads the record as it is written, not the values that it
/// was made of. For all records that a service makes of input from others.
class CheckedPublisher final : public Publisher {
public:
    /// Whether readers of that topic will read the record. Pure. Errors: invalid and too_large (a
    /// sentence for the sender).
    using Check = std::function<core::Result<void>(const TopicPartition&, const core::RecordView&)>;

    CheckedPublisher(std::unique_ptr<Publisher> inner, core::Executor& executor, Check check);

    /// Answers with the error of the check, without having tried, if the record does not pass it.
    void publish(TopicPartition where, core::Record record, AppendDone done) override;
    std::size_t unanswered() const override { return inner_->unanswered(); }

private:
    const std::unique_ptr<Publisher> inner_;
    const Check check_;
    std::vector<core::HeaderView> headers_;  ///< reused
    core::Lifetime lifetime_;
};

/// The check of `notifications` and `subscriptions`; other topics pass.
core::Result<void> check_core_record(const TopicPartition& where, const core::RecordView& record);

}  // namespace beckon::log
