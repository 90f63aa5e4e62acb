#include "store/tables/months.hpp"

#include "core/logger.hpp"
#include "core/time_guard.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace beckon::store {

namespace {

constexpr std::string_view kOldestRow = "oldest_month";

}  // namespace

Months::Months(Database& database, Rotation rotation)
    : database_(database), rotation_(rotation), list_(std::make_shared<MonthList>()) {
    // Unreadable is as good as none: the next drop_past() notes it again.
    if (const auto text = database_.meta(kOldestRow)) oldest_live_ = std::atoi(text->c_str());
    MonthList found;
    for (auto& [name, family] : database_.take_other_families()) {
        if (const auto month = parse_message_family_name(name)) found.push_back({*month, family});
    }
    replace_list(std::move(found));
    // A crash between the row and the drop leaves families that no fold may meet again.
    drop_below_oldest();
}

std::shared_ptr<const MonthList> Months::list() const {
    const std::scoped_lock lock{list_mutex_};
    return list_;
}

void Months::replace_list(MonthList list) {
    std::sort(list.begin(), list.end(),
              [](const auto& a, const auto& b) { return a.month < b.month; });
    auto made = std::make_shared<const MonthList>(std::move(list));
    {
        const std::scoped_lock lock{list_mutex_};
        list_.swap(made);
    }
    generation_.fetch_add(1, std::memory_order_release);
}

core::Result<void> Months::require(Month month) {
    const std::scoped_lock lock{change_mutex_};
    if (month < oldest_live()) return {};
    MonthList months = *list();
    const auto known = [&](const MonthFamily& entry) { return entry.month == month; };
    if (std::any_of(months.begin(), months.end(), known)) return {};
    auto family = database_.create_family(name_of(month), FamilyKind::messages);
    if (!family) return core::fail(family.error());
    months.push_back({month, std::move(*family)});
    replace_list(std::move(months));
    return {};
}

std::vector<std::string> Months::drop_past(core::Timestamp log_now, core::Timestamp host_now) {
    if (rotation_ == Rotation::off) return {};
    const std::scoped_lock lock{change_mutex_};
    std::erase_if(dropped_, [](const Family& family) { return family.use_count() == 1; });
    const Month oldest = bucket(core::certainly_past(log_now, host_now));
    if (oldest > oldest_live()) {
        if (auto noted = database_.put_meta(kOldestRow, std::to_string(oldest)); !noted) {
            core::log_warn("store", "month_not_dropped", {{"why", noted.error().message}});
            return {};
        }
        oldest_live_.store(oldest, std::memory_order_release);
    }
    auto names = drop_below_oldest();
    for (const auto& name : names) core::log_info("store", "month_dropped", {{"family", name}});
    return names;
}

std::vector<std::string> Months::drop_below_oldest() {
    MonthList live;
    for (const auto& entry : *list()) {
        const bool over = rotation_ != Rotation::off && entry.month < oldest_live();
        (over ? undropped_ : live).push_back(entry);
    }
    if (undropped_.empty()) return {};
    if (live.size() != list()->size()) replace_list(std::move(live));
    std::vector<std::string> names;
    for (auto& entry : std::exchange(undropped_, {})) {
        if (const auto dropped = database_.drop_family(entry.family); !dropped) {
            core::log_warn("store", "month_not_dropped", {{"why", dropped.error().message}});
            undropped_.push_back(std::move(entry));
            continue;
        }
        names.push_back(name_of(entry.month));
        dropped_.push_back(std::move(entry.family));
    }
    return names;
}

}  // namespace beckon::store
