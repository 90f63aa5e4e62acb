#include "cluster/cluster.hpp"

#include "cluster/ownership.hpp"
#include "core/codec.hpp"
#include "core/logger.hpp"
#include "fold/marker.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace beckon::cluster {

using core::Fault;
using log::Topic;

namespace {

const log::TopicPartition kOwnership{Topic::kOwnership, 0};
constexpr std::size_t kBatch = 256;
/// After a publish to `ownership` failed, or a mark of it.
constexpr core::Duration kRetryAfter = std::chrono::milliseconds{500};

/// FNV-1a with a finaliser (of splitmix64), since FNV alone spreads short keys badly.
std::uint64_t weight(std::string_view node, core::Partition partition) {
    std::uint64_t h = 0xcbf29ce484222325ULL;
    const auto mix = [&h](std::uint8_t byte) { h = (h ^ byte) * 0x100000001b3ULL; };
    for (const char c : node) mix(static_cast<std::uint8_t>(c));
    for (int shift = 0; shift < 32; shift += 8) {
        mix(static_cast<std::uint8_t>(static_cast<std::uint32_t>(partition) >> shift));
    }
    h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9ULL;
    h = (h ^ (h >> 27)) * 0x94d049bb133111ebULL;
    return h ^ (h >> 31);
}

bool contains(const std::vector<core::NodeId>& nodes, const core::NodeId& node) {
    return std::find(nodes.begin(), nodes.end(), node) != nodes.end();
}

}  // namespace

std::vector<core::NodeId> rank(core::Partition partition, const std::vector<core::NodeId>& alive) {
    std::vector<std::pair<std::uint64_t, core::NodeId>> weighed;
    weighed.reserve(alive.size());
    for (const auto& node : alive) weighed.emplace_back(weight(node.text, partition), node);
    std::sort(weighed.begin(), weighed.end(), std::greater<>{});
    std::vector<core::NodeId> out;
    out.reserve(alive.size());
    for (auto& [w, node] : weighed) out.push_back(std::move(node));
    return out;
}

/// Everything below is folded from `ownership` in log order, so all nodes agree on it.
struct Cluster::Impl : std::enable_shared_from_this<Impl> {
    Impl(ClusterOptions o, log::EventLog& l, core::Executor& e, const core::Clock& c, Events v)
        : options(std::move(o)), log(l), executor(e), clock(c), events(std::move(v)) {}

    const ClusterOptions options;
    log::EventLog& log;
    core::Executor& executor;
    const core::Clock& clock;
    const Events events;

    std::unique_ptr<log::Publisher> publisher;
    std::unique_ptr<fold::Marker> marker;
    std::unique_ptr<log::PartitionReader> reader;
    std::unique_ptr<log::Member> member;

    // --- the fold
    std::map<core::Partition, Placement> placed;
    std::map<core::Partition, EpochRecord> epochs;
    std::map<core::NodeId, NodeRecord> nodes;
    core::Epoch controller_epoch = 0;                       ///< the highest claimed
    core::NodeId controller;                                ///< the first to claim it
    std::set<std::pair<core::Epoch, core::NodeId>> claims;  ///< standing, for the winner to clear

    // --- this node
    bool caught_up = false;
    log::Members members;
    std::set<core::Partition> ready;
    core::Epoch claiming = 0;  ///< a claim to be controller that is not read back yet; 0: none
    std::set<std::string> in_flight;  ///< keys published and not read back yet
    bool retry_posted = false;

    void start();
    void read();
    void ask_mark();
    void fold(const core::RecordView& record);
    void fold(const ControllerClaim& claim);
    void fold(const PlacementRecord& record);
    void fold(const EpochRecord& record);
    void fold(const NodeRecord& record);

    void act();
    void say_who_we_are();
    void claim_control();
    void place_all();
    void place(core::Partition partition);
    void bury_dead_nodes();
    void publish(core::Record record);
    void retry_later();
    bool controls() const {
        return caught_up && members.first && controller_epoch != 0 && controller == options.self;
    }
};

void Cluster::Impl::start() {
    publisher = log.open_publisher(executor);
    marker = std::make_unique<fold::Marker>(kOwnership, options.self, *publisher, executor, clock);
    const auto weak = weak_from_this();
    reader = log.open_reader(kOwnership, 0, executor, [weak] {
        if (const auto self = weak.lock()) self->read();
    });
    member = log.join({.group = options.role + ".members",
                       .self = options.self,
                       .session_timeout = options.session_timeout},
                      executor, [weak](const log::Members& now) {
                          const auto self = weak.lock();
                          if (!self) return;
                          self->members = now;
                          self->act();
                          // Who is missing now is buried later: it may be slow to join.
                          self->executor.post_after(2 * self->options.session_timeout, [weak] {
                              if (const auto again = weak.lock()) again->bury_dead_nodes();
                          });
                      });
    ask_mark();
}

void Cluster::Impl::ask_mark() {
    marker->ask([weak = weak_from_this()](const core::Result<void>& result) {
        const auto self = weak.lock();
        if (!self) return;
        if (!result) {
            self->executor.post_after(kRetryAfter, [weak] {
                if (const auto again = weak.lock()) again->ask_mark();
            });
            return;
        }
        self->caught_up = true;
        for (const auto& [partition, placement] : std::map{self->placed}) {
            self->events.placed(partition, placement);
        }
        self->act();
    });
}

void Cluster::Impl::read() {
    for (;;) {
        const auto taken = reader->take(kBatch, [this](const auto& record) { fold(record); });
        if (!taken) {
            if (taken.error().fault == Fault::out_of_range) {
                core::log_error("cluster", "ownership_lost",
                                {{"why", taken.error().message}, {"role", options.role}});
            }
            break;  // `ready` comes when there is something again
        }
        if (taken->drained) break;
    }
    marker->passed(reader->position());
    act();
}

void Cluster::Impl::fold(const core::RecordView& record) {
    in_flight.erase(std::string{record.key});
    std::visit(core::Overloaded{[](const OwnershipMark&) {},
                                [&](const UnknownOwnership& unknown) {
                                    core::log_warn(
                                        "cluster", "unknown_ownership_record",
                                        {{"why", unknown.why}, {"offset", record.offset}});
                                },
                                [this](const auto& event) {
                                    if (event.role == options.role) fold(event);
                                }},
               decode_ownership(record));
}

void Cluster::Impl::fold(const ControllerClaim& claim) {
    if (claim.removed) {
        claims.erase({claim.epoch, claim.node});
        return;
    }
    claims.emplace(claim.epoch, claim.node);
    if (claim.node == options.self && claim.epoch == claiming) claiming = 0;
    if (claim.epoch <= controller_epoch) return;  // the first of an epoch wins
    controller_epoch = claim.epoch;
    controller = claim.node;
    claiming = 0;
    core::log_info(
        "cluster", "controller",
        {{"role", options.role}, {"epoch", controller_epoch}, {"node", controller.text}});
    if (controller != options.self) return;
    for (const auto& [epoch, node] : claims) {
        if (epoch < controller_epoch) {
            publish(encode(ControllerClaim{options.role, epoch, node, true}));
        }
    }
}

void Cluster::Impl::fold(const PlacementRecord& record) {
    if (record.partition < 0 || record.partition >= options.partitions) return;
    const auto known = placed.find(record.partition);
    if (record.epoch < controller_epoch) {
        // A late write of a former controller, or what stood before the first claim we have read.
        // The controller writes the truth again, or compaction would keep this.
        if (known != placed.end() && controls()) {
            publish(encode(PlacementRecord{options.role, record.partition, known->second.home,
                                           known->second.standbys, controller_epoch}));
        }
        return;
    }
    Placement now{record.home, record.standbys, record.epoch};
    if (known != placed.end() && known->second == now) return;
    placed[record.partition] = now;
    if (caught_up) events.placed(record.partition, now);
}

void Cluster::Impl::fold(const EpochRecord& record) {
    auto& known = epochs[record.partition];
    if (record.epoch >= known.epoch) {
        known = record;
    } else if (controls()) {
        publish(encode(known));  // lost by epoch: compaction must keep the higher one
    }
}

void Cluster::Impl::fold(const NodeRecord& record) {
    if (record.removed) {
        nodes.erase(record.node);
    } else {
        nodes[record.node] = record;
    }
}

/// Compares what is with what should be and publishes the difference; call it after any change.
void Cluster::Impl::act() {
    if (!caught_up) return;
    say_who_we_are();
    if (!members.first) return;
    if (controls()) {
        place_all();
    } else {
        claim_control();
    }
}

void Cluster::Impl::say_who_we_are() {
    const NodeRecord us{options.role, options.self, options.link_url, ready, false};
    const auto known = nodes.find(options.self);
    if (known == nodes.end() || known->second != us) publish(encode(us));
}

void Cluster::Impl::claim_control() {
    if (claiming > controller_epoch) return;  // until it is read back, or a higher one is
    claiming = controller_epoch + 1;
    publish(encode(ControllerClaim{options.role, claiming, options.self, false}));
}

void Cluster::Impl::place_all() {
    for (core::Partition p = 0; p < options.partitions; ++p) place(p);
}

/// The first in rank is home, but a partition leaves a living home only for a node that is ready
/// for it; until then that node is a standby and warms up (docs/design.md#standbys-and-take-over).
void Cluster::Impl::place(core::Partition partition) {
    const auto ranked = rank(partition, members.alive);
    if (ranked.empty()) return;
    const auto is_ready = [&](const core::NodeId& node) {
        const auto known = nodes.find(node);
        return known != nodes.end() && known->second.ready.contains(partition);
    };
    const auto known = placed.find(partition);
    core::NodeId home = ranked.front();
    if (known != placed.end() && contains(ranked, known->second.home)) {
        if (!is_ready(home)) home = known->second.home;
    } else if (const auto warm = std::find_if(ranked.begin(), ranked.end(), is_ready);
               warm != ranked.end()) {
        home = *warm;  // the former home is dead: whoever has it already
    }
    PlacementRecord next{options.role, partition, home, {}, controller_epoch};
    for (const auto& node : ranked) {
        const bool wanted = static_cast<int>(next.standbys.size()) < options.standby_count ||
                            node == ranked.front();
        if (node != home && wanted) next.standbys.push_back(node);
    }
    if (known != placed.end() && known->second.home == next.home &&
        known->second.standbys == next.standbys) {
        return;
    }
    publish(encode(next));
}

void Cluster::Impl::bury_dead_nodes() {
    if (!controls()) return;
    for (const auto& [id, record] : nodes) {
        if (contains(members.alive, id)) continue;
        auto gone = record;
        gone.removed = true;
        publish(encode(gone));
    }
}

void Cluster::Impl::publish(core::Record record) {
    auto key = record.key;
    if (!in_flight.insert(key).second) return;  // act() comes again when that one is read back
    publisher->publish(kOwnership, std::move(record),
                       [weak = weak_from_this(), key](const core::Result<log::Appended>& result) {
                           const auto self = weak.lock();
                           if (!self) return;
                           if (result) return;  // reading it back is what counts
                           self->in_flight.erase(key);
                           self->claiming = 0;  // if it was a claim; act() claims again if not
                           self->retry_later();
                       });
}

void Cluster::Impl::retry_later() {
    if (std::exchange(retry_posted, true)) return;
    executor.post_after(kRetryAfter, [weak = weak_from_this()] {
        const auto self = weak.lock();
        if (!self) return;
        self->retry_posted = false;
        self->act();
    });
}

Cluster::Cluster(ClusterOptions options, log::EventLog& log, core::Executor& executor,
                 const core::Clock& clock, Events events)
    : impl_(std::make_shared<Impl>(std::move(options), log, executor, clock, std::move(events))) {
    impl_->start();
}

Cluster::~Cluster() {
    impl_->member.reset();
    impl_->reader.reset();
    impl_->marker.reset();
    impl_->publisher.reset();
}

void Cluster::still_alive() { impl_->member->still_alive(); }

void Cluster::set_ready(const std::set<core::Partition>& ready) {
    impl_->ready = ready;
    impl_->act();
}

std::optional<Placement> Cluster::placement(core::Partition partition) const {
    const auto known = impl_->placed.find(partition);
    if (known == impl_->placed.end()) return std::nullopt;
    return known->second;
}

core::Epoch Cluster::highest_epoch(core::Partition partition) const {
    const auto known = impl_->epochs.find(partition);
    return known == impl_->epochs.end() ? 0 : known->second.epoch;
}

bool Cluster::caught_up() const { return impl_->caught_up; }

bool Cluster::settled() const {
    const auto& alive = impl_->members.alive;
    return impl_->caught_up && contains(alive, impl_->options.self) &&
           impl_->placed.size() == static_cast<std::size_t>(impl_->options.partitions) &&
           std::all_of(impl_->placed.begin(), impl_->placed.end(),
                       [&](const auto& entry) { return contains(alive, entry.second.home); });
}

}  // namespace beckon::cluster
