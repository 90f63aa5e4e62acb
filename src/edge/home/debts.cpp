#include "edge/home/debts.hpp"

#include "core/codec.hpp"

#include <set>
#include <unordered_map>
#include <utility>

namespace beckon::edge {

namespace {

constexpr core::Duration kRetryFirst = std::chrono::milliseconds{200};
constexpr core::Duration kRetryMax = std::chrono::seconds{5};

}  // namespace

struct Debts::Impl : std::enable_shared_from_this<Impl> {
    enum class Stage { waiting, in_flight, durable };
    struct Owed {
        store::Debt debt;
        Stage stage = Stage::waiting;
    };

    Impl(core::Partition p, core::NodeId n, log::Publisher& pub, core::Executor& e,
         std::function<void(const store::Debt&)> d)
        : partition(p), node(std::move(n)), publisher(pub), executor(e), durable(std::move(d)) {}

    const core::Partition partition;
    const core::NodeId node;
    log::Publisher& publisher;
    core::Executor& executor;
    const std::function<void(const store::Debt&)> durable;

    std::unordered_map<core::MessageKey, Owed> owed;
    std::set<std::pair<core::Offset, core::MessageKey>> waiting;  ///< in the order of the puts
    /// Of each client: puts of replaced messages whose tombstone the log does not have yet.
    std::unordered_map<core::Uaid, std::set<core::Offset>> replaced;
    std::size_t in_flight = 0;
    core::Duration retry_after = kRetryFirst;
    bool backing_off = false;

    void pump();
    bool must_wait(const store::Debt& debt) const;
    void publish(Owed& entry);
    void answered(const core::MessageKey& key, bool ok);
    void settle_replaced(const store::Debt& debt);
    void back_off();
};

bool Debts::Impl::must_wait(const store::Debt& debt) const {
    if (replaced.empty() || debt.reason == core::FinishReason::replaced) return false;
    const auto older = replaced.find(debt.uaid);
    return older != replaced.end() && *older->second.begin() < debt.put_offset;
}

void Debts::Impl::pump() {
    if (backing_off) return;
    for (auto it = waiting.begin(); it != waiting.end() && in_flight < kInFlightMax;) {
        auto& entry = owed.at(it->second);
        if (must_wait(entry.debt)) {
            ++it;
            continue;
        }
        it = waiting.erase(it);
        publish(entry);
    }
}

void Debts::Impl::publish(Owed& entry) {
    entry.stage = Stage::in_flight;
    ++in_flight;
    const auto& debt = entry.debt;
    publisher.publish({log::Topic::kNotifications, partition},
                      core::encode(core::NotificationFinished{
                          .uaid = debt.uaid, .key = debt.key, .reason = debt.reason, .source = {}}),
                      [weak = weak_from_this(), key = debt.key](const auto& result) {
                          if (const auto self = weak.lock()) {
                              self->answered(key, result.has_value());
                          }
                      });
}

void Debts::Impl::answered(const core::MessageKey& key, bool ok) {
    --in_flight;
    const auto it = owed.find(key);
    // Paid already if it is gone: what is read back needs no report.
    if (it != owed.end() && it->second.stage == Stage::in_flight) {
        if (ok) {
            it->second.stage = Stage::durable;
            settle_replaced(it->second.debt);
            durable(it->second.debt);
        } else {
            it->second.stage = Stage::waiting;
            waiting.emplace(it->second.debt.put_offset, key);
        }
    }
    if (ok) {
        retry_after = kRetryFirst;
        pump();
    } else {
        back_off();
    }
}

void Debts::Impl::settle_replaced(const store::Debt& debt) {
    if (debt.reason != core::FinishReason::replaced) return;
    const auto of_client = replaced.find(debt.uaid);
    if (of_client == replaced.end()) return;
    of_client->second.erase(debt.put_offset);
    if (of_client->second.empty()) replaced.erase(of_client);
}

void Debts::Impl::back_off() {
    if (std::exchange(backing_off, true)) return;
    executor.post_after(retry_after, [weak = weak_from_this()] {
        const auto self = weak.lock();
        if (!self) return;
        self->backing_off = false;
        self->pump();
    });
    retry_after = std::min(retry_after * 2, kRetryMax);
}

Debts::Debts(core::Partition partition, core::NodeId node, log::Publisher& publisher,
             core::Executor& executor, std::function<void(const store::Debt&)> durable)
    : impl_(std::make_shared<Impl>(partition, std::move(node), publisher, executor,
                                   std::move(durable))) {}

Debts::~Debts() = default;

void Debts::add(const std::vector<store::Debt>& debts) {
    for (const auto& debt : debts) {
        if (!impl_->owed.emplace(debt.key, Impl::Owed{debt}).second) continue;
        impl_->waiting.emplace(debt.put_offset, debt.key);
        if (debt.reason == core::FinishReason::replaced) {
            impl_->replaced[debt.uaid].insert(debt.put_offset);
        }
    }
    impl_->pump();
}

void Debts::read_back(const core::MessageKey& key) {
    const auto it = impl_->owed.find(key);
    if (it == impl_->owed.end()) return;
    const auto paid = it->second;
    impl_->owed.erase(it);
    if (paid.stage == Impl::Stage::durable) return;
    impl_->waiting.erase({paid.debt.put_offset, key});
    impl_->settle_replaced(paid.debt);
    impl_->durable(paid.debt);
    impl_->pump();  // others may have waited for it
}

std::size_t Debts::size() const { return impl_->owed.size(); }

}  // namespace beckon::edge
