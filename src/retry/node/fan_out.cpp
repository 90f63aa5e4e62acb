#include "retry/node/fan_out.hpp"

#include <utility>

namespace beckon::retry {

namespace {

void add_up(Spreader::Counts& sum, const Spreader::Counts& more) {
    sum.events += more.events;
    sum.copies += more.copies;
    sum.broken += more.broken;
    sum.deliveries += more.deliveries;
    sum.too_costly += more.too_costly;
    sum.filter_steps += more.filter_steps;
}

}  // namespace

FanOut::FanOut(Context context, Events events)
    : context_(std::move(context)),
      events_(std::move(events)),
      publisher_(context_.log.open_publisher(context_.executor)),
      directory_(SecretBox{context_.keys}) {}

void FanOut::set_up_to_date(bool is) {
    up_to_date_ = is;
    if (!is) return;
    for (auto& [partition, spreader] : spreaders_) spreader->read_on();
}

void FanOut::start(core::Partition partition, core::Epoch epoch, core::Offset from) {
    stop(partition);
    auto spreader = std::make_unique<Spreader>(
        Spreader::Options{.partition = partition, .partitions = context_.partitions, .from = from},
        context_.log, *publisher_, context_.executor, directory_,
        Spreader::Events{
            .spread_up_to = [this, partition, epoch](
                                core::Offset next) { events_.done_up_to(partition, epoch, next); },
            .failed = [this, partition,
                       epoch](const core::Error& why) { events_.failed(partition, epoch, why); },
            .may_read = [this] { return up_to_date_; }});
    spreader->start();
    spreaders_[partition] = std::move(spreader);
}

void FanOut::stop(core::Partition partition) {
    const auto node = spreaders_.extract(partition);
    if (!node.empty()) add_up(left_, node.mapped()->counts());
}

Spreader::Counts FanOut::counts() const {
    auto sum = left_;
    for (const auto& [partition, spreader] : spreaders_) add_up(sum, spreader->counts());
    return sum;
}

}  // namespace beckon::retry
