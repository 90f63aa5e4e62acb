#include "retry/attempt/name_lookups.hpp"

#include "core/contain.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <system_error>
#include <thread>

#include <netdb.h>
#include <pthread.h>
#include <sys/socket.h>

namespace beckon::retry {

namespace {

constexpr const char* kThreadName = "retry-names";

}  // namespace

NameLookups::Addresses system_addresses(const std::string& name) {
    addrinfo hints{};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (::getaddrinfo(name.c_str(), nullptr, &hints, &found) != 0) return {};
    const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> all{found, &::freeaddrinfo};
    NameLookups::Addresses addresses;
    for (const auto* one = found; one; one = one->ai_next) {
        std::array<char, NI_MAXHOST> text{};
        const int failed = ::getnameinfo(one->ai_addr, one->ai_addrlen, text.data(), text.size(),
                                         nullptr, 0, NI_NUMERICHOST);
        const std::string address{text.data(), std::strcspn(text.data(), "%")};  // without a scope
        const bool known =
            std::find(addresses.begin(), addresses.end(), address) != addresses.end();
        if (failed == 0 && !known) addresses.push_back(address);
    }
    return addresses;
}

NameLookups::NameLookups(LookUp look_up, core::Executor& executor)
    : look_up_(std::move(look_up)), lifetime_(executor) {}

const NameLookups::Addresses* NameLookups::known(const std::string& name,
                                                 core::MonoTime now) const {
    const auto found = known_.find(name);
    if (found == known_.end() || found->second.until <= now) return nullptr;
    return &found->second.addresses;
}

/// Owners do not wait for each other's lookups, even of the same name.
std::uint64_t NameLookups::ask(const std::string& owner, const std::string& name, Done done) {
    const auto asker = next_asker_++;
    const Key key{owner, name};
    const auto [lookup, is_new] = lookups_.try_emplace(key);
    lookup->second.askers.emplace(asker, std::move(done));
    askers_.emplace(asker, key);
    if (is_new) budget_.add(owner, name);
    begin_waiting();
    return asker;
}

void NameLookups::forget(std::uint64_t asker) {
    const auto of = askers_.extract(asker);
    if (of.empty()) return;
    const auto& [owner, name] = of.mapped();
    const auto lookup = lookups_.find(of.mapped());
    lookup->second.askers.erase(asker);
    if (lookup->second.begun || !lookup->second.askers.empty()) return;
    lookups_.erase(lookup);
    std::erase(budget_.owner(owner).works, name);
}

/// Those whose owners have a share left, an owner after the other.
void NameLookups::begin_waiting() {
    while (auto* next = budget_.next(kThreads)) {
        const Key key{next->name, budget_.take(*next, kCost)};
        budget_.hold(key.first, kThreads, 1);
        begin(key);
    }
}

void NameLookups::begin(const Key& key) {
    lookups_.at(key).begun = true;
    const auto end = [this, key, remote = lifetime_.remote()](Addresses addresses) {
        remote.post([this, key, addresses = std::move(addresses)] { ended(key, addresses); });
    };
    try {
        std::thread{[end, look_up = look_up_, name = key.second] {
            pthread_setname_np(pthread_self(), kThreadName);
            Addresses addresses;
            core::contain("retry", [&] { addresses = look_up(name); });
            end(std::move(addresses));
        }}.detach();
    } catch (const std::system_error& none) {
        core::report_thrown("retry", none.what());
        end({});
    }
}

void NameLookups::ended(const Key& key, const Addresses& addresses) {
    const auto lookup = lookups_.extract(key);
    budget_.give_back(key.first, kThreads, 1);
    if (!addresses.empty()) remember(key.second, addresses);
    const auto& askers = lookup.mapped().askers;
    for (const auto& [asker, done] : askers) askers_.erase(asker);
    begin_waiting();
    const auto term = lifetime_.term();
    for (const auto& [asker, done] : askers) {
        if (term.over()) return;
        done(asker, addresses);
    }
}

void NameLookups::remember(const std::string& name, const Addresses& addresses) {
    const auto now = clock_.mono();
    if (known_.size() >= kNamesMax && !known_.contains(name)) {
        std::erase_if(known_, [now](const auto& one) { return one.second.until <= now; });
        if (known_.size() >= kNamesMax) known_.erase(known_.begin());
    }
    known_[name] = {.addresses = addresses, .until = now + kKnownFor};
}

}  // namespace beckon::retry
