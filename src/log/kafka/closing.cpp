#include "log/kafka/closing.hpp"

#include <chrono>
#include <future>
#include <thread>
#include <utility>

namespace beckon::log::kafka {

namespace {

constexpr std::chrono::milliseconds kCloseMax{200};

}  // namespace

void close_soon(std::vector<ClientHandle> clients, std::shared_ptr<KafkaEvents> events) {
    std::promise<void> closed;
    const auto end = closed.get_future();
    std::thread{[clients = std::move(clients), events = std::move(events),
                 closed = std::move(closed)]() mutable {
        clients.clear();
        closed.set_value();
    }}.detach();
    end.wait_for(kCloseMax);
}

}  // namespace beckon::log::kafka
