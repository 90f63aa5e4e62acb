#include "sim/retry/sim_retry.hpp"

#include <utility>

namespace beckon::sim {

using namespace std::chrono_literals;

namespace {

/// As Role's.
constexpr core::Duration kRetryTick = 1s;

}  // namespace

SimRetry::SimRetry(const Surroundings& around, Options options)
    : around_(around),
      id_(options.node.deliveries.node),
      life_(around_.executor),
      control_("retry", life_, around_.true_time, around_.seed, options.late_by_max) {
    std::vector<retry::DeliveryShard::Thread> threads;
    for (std::size_t i = 0; i < options.threads; ++i) {
        deliverers_.push_back(std::make_unique<LateLoop>("retry-" + std::to_string(i), life_,
                                                         around_.true_time, around_.seed + 1 + i,
                                                         options.late_by_max));
        threads.push_back({.executor = *deliverers_.back(),
                           .send = [this, i](retry::HttpRequest request,
                                             std::function<void(retry::HttpAnswer)> done) {
                               send(i, std::move(request), std::move(done));
                           }});
    }
    node_ = std::make_unique<retry::RetryNode>(
        std::move(options.node),
        retry::RetryNode::Context{.log = around_.log,
                                  .executor = control_,
                                  .clock = around_.clock,
                                  .keys = around_.keys,
                                  .threads = std::move(threads),
                                  .ready =
                                      [this](bool ready, const std::string& why) {
                                          ready_ = ready;
                                          why_unready_ = why;
                                      },
                                  .one_thread = true});
    node_->start();
    tick();
}

SimRetry::~SimRetry() {
    life_.kill();
    alive_.reset();
    node_.reset();
}

void SimRetry::tick() {
    control_.post_after(kRetryTick, [this] {
        if (!mute_) node_->still_alive();
        node_->measure();
        tick();
    });
}

void SimRetry::on_api(std::function<void(retry::RetryNode&)> task) {
    control_.post([this, task = std::move(task)] { task(*node_); });
}

void SimRetry::stop(std::function<void()> done) {
    if (std::exchange(stops_, true)) return;
    control_.post([this, done = std::move(done)] { node_->stop(done); });
}

/// A receiver acts outside of the process; its answer is an event of the loop.
void SimRetry::send(std::size_t thread, retry::HttpRequest request,
                    std::function<void(retry::HttpAnswer)> done) {
    around_.receivers.send(id_, request,
                           [this, thread, done = std::move(done),
                            alive = std::weak_ptr{alive_}](const retry::HttpAnswer& answer) {
                               if (alive.expired()) return;
                               deliverers_[thread]->post([done, answer] { done(answer); });
                           });
}

}  // namespace beckon::sim
