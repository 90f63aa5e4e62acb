#include "retry/event/spreader.hpp"

#include "core/codec.hpp"
#include "core/logger.hpp"
#include "retry/event/event.hpp"
#include "retry/tiers/delivery.hpp"
#include "retry/tiers/done_tracker.hpp"
#include "retry/tiers/recent_deliveries.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include <nlohmann/json.hpp>

namespace beckon::retry {

using core::Fault;
using core::Offset;

struct Spreader::Impl : std::enable_shared_from_this<Impl> {
    Impl(Options o, log::EventLog& l, log::Publisher& p, core::Executor& x,
         const WebhookDirectory& w, Events e)
        : options(o),
          log(l),
          publisher(p),
          executor(x),
          webhooks(w),
          events(std::move(e)),
          tracker({.low = o.from, .above = {}}) {}

    const Options options;
    log::EventLog& log;
    log::Publisher& publisher;
    core::Executor& executor;
    const WebhookDirectory& webhooks;
    const Events events;

    std::unique_ptr<log::PartitionReader> reader;
    DoneTracker tracker;
    RecentDeliveries recent;
    std::map<Offset, std::size_t> unreported;  ///< deliveries of an event that the log has not yet
    std::size_t in_flight = 0;
    Offset told = 0;
    Counts counts;

    void read_on();
    void read(const core::RecordView& record);
    void spread(Offset offset, const Event& event);
    void publish(Offset offset, const Delivery& delivery);
    void reported(Offset offset);
    void tell();
};

void Spreader::Impl::read_on() {
    while (reader && in_flight < kDeliveriesMax) {
        const auto taken = reader->take(1, [this](const auto& record) { read(record); });
        if (!taken) {
            if (taken.error().fault == Fault::unavailable) return;  // `ready` comes
            reader.reset();
            return events.failed(taken.error());
        }
        if (taken->records == 0) {
            tracker.read_up_to(reader->position());
            break;
        }
    }
    tell();
}

void Spreader::Impl::read(const core::RecordView& record) {
    if (core::is_control_key(record.key)) return;
    const auto event = decode_event(record);
    if (!event) {
        ++counts.broken;
        core::log_error("retry", "broken_event",
                        {{"offset", record.offset}, {"why", event.error().message}});
        return;
    }
    const Delivery name{
        .id = delivery_id(scope_of(*event), event->id, ""), .webhook = "", .event = ""};
    const bool copy = !recent.insert(name);
    if (record.offset < options.from) return;
    if (copy) {
        ++counts.copies;
        tracker.read_up_to(record.offset + 1);
        return;
    }
    ++counts.events;
    spread(record.offset, *event);
}

void Spreader::Impl::spread(Offset offset, const Event& event) {
    const auto ids = webhooks.match(nlohmann::json::parse(event.json));
    if (ids.empty()) return tracker.read_up_to(offset + 1);
    tracker.open(offset);
    unreported[offset] = ids.size();
    in_flight += ids.size();
    for (const auto& id : ids) {
        publish(
            offset,
            {.id = delivery_id(scope_of(event), event.id, id), .webhook = id, .event = event.json});
    }
}

void Spreader::Impl::publish(Offset offset, const Delivery& delivery) {
    const auto partition = core::partition_of(delivery.webhook, options.partitions);
    publisher.publish({log::Topic::retry(0), partition}, encode(delivery),
                      [weak = weak_from_this(), offset, delivery](const auto& where) {
                          const auto self = weak.lock();
                          if (!self) return;
                          if (where) return self->reported(offset);
                          // Perhaps it is in the log: then the tier drops the copy.
                          self->executor.post_after(kPublishAgain, [weak, offset, delivery] {
                              if (const auto s = weak.lock()) s->publish(offset, delivery);
                          });
                      });
}

void Spreader::Impl::reported(Offset offset) {
    --in_flight;
    ++counts.deliveries;
    const auto found = unreported.find(offset);
    if (--found->second == 0) {
        unreported.erase(found);
        tracker.finish(offset);
    }
    read_on();
}

void Spreader::Impl::tell() {
    const auto next = tracker.low();
    if (next != std::exchange(told, next)) events.spread_up_to(next);
}

Spreader::Spreader(Options options, log::EventLog& log, log::Publisher& publisher,
                   core::Executor& executor, const WebhookDirectory& webhooks, Events events)
    : impl_(
          std::make_shared<Impl>(options, log, publisher, executor, webhooks, std::move(events))) {}

Spreader::~Spreader() { impl_->reader.reset(); }

void Spreader::start() {
    const auto from = std::max<Offset>(0, impl_->options.from - kLookBack);
    impl_->reader = impl_->log.open_reader({log::Topic::kEvents, impl_->options.partition}, from,
                                           impl_->executor, [weak = std::weak_ptr{impl_}] {
                                               if (const auto self = weak.lock()) self->read_on();
                                           });
}

const Spreader::Counts& Spreader::counts() const { return impl_->counts; }

}  // namespace beckon::retry
