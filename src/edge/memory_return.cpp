#include "edge/memory_return.hpp"

#include "core/logger.hpp"

#include <algorithm>
#include <utility>

#include <malloc.h>

namespace beckon::edge {

MemoryReturn::MemoryReturn(Context context)
    : context_(std::move(context)), lifetime_(context_.executor) {
    look_again();
}

void MemoryReturn::look() {
    const auto now = context_.clock.mono();
    const auto clients = context_.clients();
    if (clients < std::exchange(last_, clients)) left_at_ = now;
    most_ = std::max(most_, clients);
    const bool many_left = clients + kManyClients <= most_;
    if (many_left && now - left_at_ >= kQuiet && now >= not_before_) {
        context_.give_back();
        most_ = clients;
        not_before_ = now + kAtMostEvery;
    }
    look_again();
}

void MemoryReturn::look_again() {
    context_.executor.post_after(kLookEvery, lifetime_.guard([this] { look(); }));
}

void give_free_memory_back() {
    const auto began = std::chrono::steady_clock::now();
    malloc_trim(0);
    const auto took = std::chrono::steady_clock::now() - began;
    core::log_info("edge", "memory_given_back",
                   {{"ms", std::chrono::duration<double, std::milli>(took).count()}});
}

}  // namespace beckon::edge
