#include "console/cluster/ownership_view.hpp"

#include "cluster/liveness.hpp"

#include <algorithm>
#include <array>

namespace beckon::console {

namespace {

constexpr log::TopicPartition kOwnership{log::Topic::kOwnership, 0};
constexpr std::array<const char*, 3> kOwningRoles{"edge", "reliability", "retry"};
constexpr const char* kStandalone = "standalone";
constexpr const char* kEndpoint = "endpoint";
constexpr std::string_view kOneEndpoint = "endpoint/";

std::string host_of(const std::string& name) { return name.substr(0, name.rfind(':')); }

/// The host's name, with the port where several processes of the role are on one host.
std::string shown_name(const Processes& processes, const Processes::Seen& seen) {
    const auto host = host_of(seen.record.name);
    const auto& all = processes.all();
    const auto same = std::ranges::count_if(all, [&](const auto& item) {
        const auto& other = item.second.record;
        return other.role == seen.record.role && host_of(other.name) == host;
    });
    return same > 1 ? seen.record.name : host;
}

}  // namespace

OwnershipView::OwnershipView(Options options, log::EventLog& log, core::Executor& executor,
                             const core::Clock& clock)
    : clock_(clock),
      options_(options),
      state_({.folder = "console", .inputs = {kOwnership}, .proof = fold::Proof::end},
             {.log = log, .executor = executor, .clock = clock},
             {.apply = [this](const auto&, const auto& record) { apply(record); },
              .cleared = [this] { clear(); },
              .changed = [this] { changed(); }}) {
    state_.start();
}

void OwnershipView::apply(const core::RecordView& record) {
    const std::scoped_lock lock{mutex_};
    if (cluster::is_process_key(record.key)) return processes_.apply(record, heard(record));
    for (auto& [role, fold] : folds_) fold.apply(record);
}

void OwnershipView::clear() {
    const std::scoped_lock lock{mutex_};
    folds_.clear();
    for (const auto* role : kOwningRoles) {
        folds_.emplace(role, cluster::OwnershipFold{role, options_.partitions});
    }
}

void OwnershipView::changed() {
    const std::scoped_lock lock{mutex_};
    complete_ = state_.current();
    if (complete_ && !read_at_) read_at_ = clock_.wall();
}

std::vector<cluster::RoleOverview> OwnershipView::roles() const {
    const std::scoped_lock lock{mutex_};
    std::vector<cluster::RoleOverview> out;
    for (const auto& [name, fold] : folds_) {
        auto role =
            overview_of(fold, [&, &of = fold](const auto& node) { return lives(of, node); });
        if (!role.partitions.empty()) out.push_back(std::move(role));
    }
    return out;
}

void OwnershipView::log_answers(bool answers) {
    const std::scoped_lock lock{mutex_};
    if (answers == !away_) return;
    const auto now = clock_.wall();
    if (answers) processes_.skip_silence(*away_, now);
    away_ = answers ? std::nullopt : std::optional{now};
}

/// The time by which silence is judged: it stands still while nothing can be heard.
core::Timestamp OwnershipView::judged_at() const { return away_.value_or(clock_.wall()); }

bool OwnershipView::hears_processes() const {
    const auto now = judged_at();
    return (read_at_ && now - *read_at_ <= cluster::kDeadAfter) ||
           std::ranges::any_of(processes_.all(), [&](const auto& item) {
               return !Processes::is_gone(item.second, now);
           });
}

Reader OwnershipView::reader_of(const std::string& group, core::Partition partition) const {
    const std::scoped_lock lock{mutex_};
    if (group.starts_with(kOneEndpoint)) return reader_of_view(group.substr(kOneEndpoint.size()));
    const bool views = group == kEndpoint;
    if (!complete_ || (!views && !folds_.contains(group))) return {};
    auto name = !views                 ? home_of(group, partition)
                : any_endpoint_lives() ? std::string{"every endpoint"}
                                       : std::string{};
    const bool dead = name.empty();
    return {.dead = dead, .name = std::move(name)};
}

Views OwnershipView::views(const std::string& prefix) const {
    const std::scoped_lock lock{mutex_};
    Views out{.group = prefix + kEndpoint, .next = {}};
    for (const auto& [key, seen] : processes_.all()) {
        if (seen.record.view.empty() || clock_.wall() - seen.at > kSilentViewFor) continue;
        if (seen.record.role == kEndpoint) {
            out.next[shown_name(processes_, seen)] = seen.record.view;
        }
    }
    return out;
}

Reader OwnershipView::reader_of_view(std::string_view process) const {
    for (const auto& [key, seen] : processes_.all()) {
        if (seen.record.role != kEndpoint || shown_name(processes_, seen) != process) continue;
        const bool dead = hears_processes() && Processes::is_gone(seen, judged_at());
        return {.dead = dead, .name = dead ? std::string{} : std::string{process}};
    }
    return {};
}

std::string OwnershipView::home_of(const std::string& role, core::Partition partition) const {
    const auto fold = folds_.find(role);
    const auto placement = fold->second.placement(partition);
    if (!placement || !lives(fold->second, placement->home)) return {};
    const auto* process = process_of(role, fold->second.name_of(placement->home));
    return process ? shown_name(processes_, *process) : placement->home.text;
}

std::vector<std::string> OwnershipView::ops_ports_of_edges() const {
    const std::scoped_lock lock{mutex_};
    std::vector<std::string> out;
    const auto fold = folds_.find("edge");
    if (fold == folds_.end()) return out;
    for (const auto& [id, node] : fold->second.nodes()) {
        const auto* process = process_of("edge", fold->second.name_of(id));
        if (!process || node.link_url.empty() || !lives(fold->second, id)) continue;
        const auto& name = process->record.name;
        out.push_back(host_of(node.link_url) + name.substr(host_of(name).size()));
    }
    return out;
}

/// When a record came. For records from before the start that is their append time.
core::Timestamp OwnershipView::heard(const core::RecordView& record) const {
    const auto now = clock_.wall();
    return complete_ ? now : std::min(now, record.time);
}

const Processes::Seen* OwnershipView::process_of(const std::string& role,
                                                 const std::string& id) const {
    const auto* process = processes_.find(role, id);
    return process ? process : processes_.find(kStandalone, id);
}

bool OwnershipView::lives(const cluster::OwnershipFold& fold, const core::NodeId& node) const {
    const bool recorded = fold.nodes().contains(node);
    const auto* process = process_of(fold.role(), fold.name_of(node));
    if (!hears_processes()) return recorded;
    if (process == nullptr) return recorded && options_.unreported == Unreported::alive;
    return cluster::is_alive({.member = recorded, .silent = judged_at() - process->at});
}

bool OwnershipView::any_endpoint_lives() const {
    if (!hears_processes() || options_.unreported == Unreported::alive) return true;
    const auto& all = processes_.all();
    return std::ranges::any_of(all, [now = judged_at()](const auto& item) {
        return item.second.record.role == kEndpoint && !Processes::is_gone(item.second, now);
    });
}

void OwnershipView::tell(const cluster::ProcessRecord& process) {
    const std::scoped_lock lock{mutex_};
    processes_.tell(process, clock_.wall());
}

ProcessFacts OwnershipView::facts_of(const Processes::Seen& seen) const {
    const auto now = judged_at();
    const auto& record = seen.record;
    ProcessFacts out{.role = record.role, .name = shown_name(processes_, seen), .id = record.id};
    out.version = record.version;
    out.gone = Processes::is_gone(seen, now);
    out.ready = record.ready;
    out.silent = now - seen.at;
    // Both by the clock of the process.
    out.uptime = std::max(core::Duration::zero(), core::Duration{record.at - record.started});
    out.faults = record.faults;
    out.warnings = record.warnings;
    if (seen.clock_known) out.clock_off = seen.clock_off;
    if (const auto at = record.gauges.find("certificate_expires"); at != record.gauges.end()) {
        const auto expires = std::chrono::duration<double>{at->second};
        out.certificate_left =
            std::chrono::duration_cast<core::Duration>(expires) - now.time_since_epoch();
    }
    out.gauges = record.gauges;
    out.rates = seen.rates;
    const auto fold = folds_.find(record.role);
    if (!out.gone || fold == folds_.end()) return out;
    std::map<std::string, std::size_t> taken;
    for (const auto& [partition, placement] : fold->second.placed()) {
        if (placement.former_home != record.id) continue;
        const auto* by = process_of(record.role, fold->second.name_of(placement.home));
        ++taken[by ? shown_name(processes_, *by) : placement.home.text];
    }
    out.taken_over = {taken.begin(), taken.end()};
    return out;
}

std::vector<ProcessFacts> OwnershipView::processes(core::Duration history_window) {
    const std::scoped_lock lock{mutex_};
    processes_.forget(judged_at(), history_window);
    std::vector<ProcessFacts> out;
    for (const auto& [key, seen] : processes_.all()) out.push_back(facts_of(seen));
    return out;
}

std::vector<RefusedFacts> OwnershipView::refused(std::string_view token) const {
    const auto wanted = cluster::refused_name(token);
    std::vector<RefusedFacts> out;
    const std::scoped_lock lock{mutex_};
    for (const auto& [key, seen] : processes_.all()) {
        for (const auto& one : seen.record.refused) {
            if (one.endpoint == wanted) out.push_back({shown_name(processes_, seen), one});
        }
    }
    std::ranges::sort(out, [](const auto& a, const auto& b) { return a.send.at > b.send.at; });
    return out;
}

std::map<std::string, double> OwnershipView::busiest_senders() const {
    constexpr std::string_view kSender = "sender/";
    const std::scoped_lock lock{mutex_};
    std::map<std::string, double> out;
    for (const auto& [key, seen] : processes_.all()) {
        if (Processes::is_gone(seen, clock_.wall())) continue;
        for (const auto& [name, rate] : seen.rates) {
            if (name.starts_with(kSender)) out[name.substr(kSender.size())] += rate;
        }
    }
    return out;
}

std::vector<HomelessFacts> OwnershipView::homeless() const {
    std::vector<HomelessFacts> out;
    for (const auto& role : roles()) {
        HomelessFacts facts{.role = role.role, .partitions = {}};
        for (const auto& one : role.partitions) {
            if (one.state == cluster::PartitionState::unplaced) {
                facts.partitions.push_back(one.partition);
            }
        }
        if (!facts.partitions.empty()) out.push_back(std::move(facts));
    }
    return out;
}

std::vector<HotFacts> OwnershipView::hot() const {
    std::vector<HotFacts> out;
    for (const auto& role : roles()) {
        for (const auto& one : role.partitions) {
            if (!one.hot) continue;
            out.push_back({.role = role.role,
                           .partition = one.partition,
                           .home = reader_of(role.role, one.partition).name,
                           .load = one.load.value_or(0)});
        }
    }
    return out;
}

bool OwnershipView::complete() const {
    const std::scoped_lock lock{mutex_};
    return complete_;
}

LagTable::Context lag_context(const std::string& prefix, std::vector<std::chrono::seconds> delays,
                              const std::function<std::shared_ptr<const OwnershipView>()>& view) {
    return {.reader_of =
                [view, prefix](const auto& group, const auto& where) {
                    const auto known = view();
                    if (!known || !group.starts_with(prefix)) return Reader{};
                    return known->reader_of(group.substr(prefix.size()), where.partition);
                },
            .delay_of = delays_of_tiers(std::move(delays), prefix),
            .views_of =
                [view, prefix] {
                    const auto known = view();
                    return known ? known->views(prefix) : Views{};
                },
            .is_own = own_groups(prefix)};
}

}  // namespace beckon::console
