#include "bench/load/generator.hpp"

#include <algorithm>

namespace beckon::bench {

namespace {

using core::Fault;

/// Opened before the first sample, so that what a server allocates once is not counted.
constexpr std::size_t kIdleWarmUp = 200;

}  // namespace

Result<std::vector<ProcessSample>> Generator::memory_now() const {
    std::vector<ProcessSample> samples;
    for (const auto& process : options_.processes) {
        const auto sample = sample_process(process.pid);
        if (!sample) return core::fail(sample.error());
        samples.push_back(*sample);
    }
    return samples;
}

Result<IdleMemory> Generator::idle(std::size_t count, bool with_channel) {
    if (auto ok = allow_descriptors(clients_.size() + senders_.size() + count + kIdleWarmUp); !ok) {
        return core::fail(ok.error());
    }
    if (auto ok = find_server(options_.url); !ok) return core::fail(ok.error());
    idle_plan_ = client_plan_;
    idle_plan_.register_channel = with_channel;
    std::vector<std::unique_ptr<LoadClient>> idlers;
    while (idlers.size() < kIdleWarmUp + count) {
        idlers.push_back(std::make_unique<LoadClient>(loop_, idle_plan_, client_events()));
    }
    const std::span all{idlers};
    print("opening " + std::to_string(count) + " idle connections" +
          (with_channel ? " with a channel each" : ""));
    if (auto ok = connect_clients(all.first(kIdleWarmUp), clients_.size()); !ok) {
        return core::fail(ok.error());
    }
    rest(options_.rest_for);
    const auto before = memory_now();
    if (!before) return core::fail(before.error());
    const Nanos start = mono_now();
    if (auto ok = connect_clients(all.subspan(kIdleWarmUp), clients_.size() + kIdleWarmUp); !ok) {
        return core::fail(ok.error());
    }
    IdleMemory memory{count, static_cast<double>(mono_now() - start) / kSecond, {}};
    rest(options_.rest_for);
    const auto after = memory_now();
    if (!after) return core::fail(after.error());
    for (std::size_t i = 0; i < options_.processes.size(); ++i) {
        memory.processes.push_back({options_.processes[i].name, (*before)[i], (*after)[i]});
    }
    for (const auto& idler : idlers) idler->leave();
    rest(options_.rest_for);
    return memory;
}

Result<std::uint64_t> Generator::fill(std::size_t messages) {
    for (const auto& client : clients_) client->leave();
    rest(options_.rest_for);  // for the server to notice
    pipeline_ = 1;
    targeted_ = clients_.size();
    print("sending " + std::to_string(messages) + " messages to " +
          std::to_string(clients_.size()) + " clients that are away");
    ledger_.start();
    std::size_t issued = 0;
    run_until(
        [&] {
            while (issued < messages && waiting_.size() < free_.size()) {
                issue(mono_now());
                ++issued;
            }
            send_waiting();
            return issued == messages && waiting_.empty() && ledger_.unreplied() == 0;
        },
        mono_now() + options_.patience.count() * kMillisecond +
            static_cast<Nanos>(messages) * kMillisecond);
    ledger_.stop();
    return ledger_.result().accepted;
}

Result<DrainRound> Generator::drain(std::size_t clients, std::size_t messages) {
    const std::size_t total = clients * messages;
    if (total > Ledger::kFollowedMax) {
        return core::fail(Fault::invalid, "a drain of " + std::to_string(total) +
                                              " messages cannot be followed, at most " +
                                              std::to_string(Ledger::kFollowedMax) + " can");
    }
    const auto away = std::span{clients_}.first(clients);
    for (const auto& client : away) client->leave();
    rest(options_.rest_for);  // for the server to notice
    pipeline_ = 1;
    targeted_ = clients;
    print("sending " + std::to_string(messages) + " messages to each of " +
          std::to_string(clients) + " clients that are away");
    ledger_.start();
    for (std::size_t i = 0; i < total; ++i) issue(mono_now());
    ledger_.stop();
    const Nanos patience =
        options_.patience.count() * kMillisecond + static_cast<Nanos>(total) * kMillisecond;
    run_until(
        [&] {
            send_waiting();
            return waiting_.empty() && ledger_.unreplied() == 0;
        },
        mono_now() + patience);
    if (const auto accepted = ledger_.result().accepted; accepted != total) {
        return core::fail(Fault::unavailable, "only " + std::to_string(accepted) + " of " +
                                                  std::to_string(total) +
                                                  " messages were accepted");
    }
    const std::uint64_t before = frames_;
    const Nanos start = mono_now();
    if (auto ok = connect_clients(away, 0); !ok) return core::fail(ok.error());
    run_until([&] { return frames_ - before >= total; }, mono_now() + patience);
    if (frames_ - before < total) {
        return core::fail(Fault::timed_out, "only " + std::to_string(frames_ - before) + " of " +
                                                std::to_string(total) +
                                                " pending messages arrived");
    }
    Nanos hello = last_frame_;
    for (const auto& client : away) hello = std::min(hello, client->hello_sent());
    return DrainRound{total, ms(last_frame_ - hello), ms(last_frame_ - start)};
}

}  // namespace beckon::bench
