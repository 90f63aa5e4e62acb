#include "bench/load/generator.hpp"

#include "client/vapid.hpp"
#include "client/webpush_crypto.hpp"
#include "core/base64url.hpp"
#include "core/descriptors.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <span>
#include <utility>

#include <arpa/inet.h>

namespace beckon::bench {

namespace {

using core::Fault;

/// Ports that one address has towards one peer (net.ipv4.ip_local_port_range).
constexpr std::size_t kPortsPerAddress = 28'000;
constexpr std::size_t kClientsPerAddress = 20'000;
constexpr std::size_t kSpareDescriptors = 64;
constexpr std::size_t kWaitingMax = 200'000;
constexpr std::size_t kEncryptionOverhead = 86 + 1 + 16;

double seconds(Nanos span) { return static_cast<double>(span) / static_cast<double>(kSecond); }

}  // namespace

Result<void> Generator::allow_descriptors(std::size_t wanted) {
    const auto limit = core::raise_descriptor_limit();
    if (wanted + kSpareDescriptors > limit) {
        return core::fail(Fault::invalid,
                          std::to_string(wanted) +
                              " connections need more open files than the "
                              "system allows here (" +
                              std::to_string(limit) +
                              ", see ulimit -n): take fewer, or run several generators");
    }
    return {};
}

namespace {

/// The path of an endpoint URL.
std::string_view target_of(std::string_view endpoint) {
    const auto path = endpoint.find('/', endpoint.find("://") + 3);
    return path == std::string_view::npos ? "/" : endpoint.substr(path);
}

}  // namespace

Generator::Generator(GeneratorOptions options)
    : options_(std::move(options)), run_(std::random_device{}()), ledger_(run_) {}

Generator::~Generator() = default;

void Generator::print(const std::string& line) const {
    if (options_.progress) options_.progress(line);
}

/// Runs the loop until `done`, which it checks after every batch of events.
bool Generator::run_until(const std::function<bool()>& done, Nanos deadline) {
    while (!done()) {
        const Nanos now = mono_now();
        if (now >= deadline) return false;
        loop_.run_once(std::min(deadline, now + 100 * kMillisecond));
    }
    return true;
}

void Generator::rest(std::chrono::milliseconds span) {
    run_until([] { return false; }, mono_now() + span.count() * kMillisecond);
}

std::optional<std::uint32_t> Generator::source_of(std::size_t client) const {
    if (!client_plan_.server.loopback()) return std::nullopt;
    constexpr std::uint32_t kFirst = 0x7f000002;  // 127.0.0.2
    return htonl(kFirst + static_cast<std::uint32_t>(client / kClientsPerAddress));
}

// ---- clients ----

void Generator::on_ready(LoadClient&) {
    --connecting_;
    ++ready_;
}

void Generator::on_client_end(LoadClient&, std::string_view reason) {
    last_problem_ = reason;
    if (opening_) {
        --connecting_;
        ++failures_;
    } else {
        ++lost_;
    }
}

void Generator::on_notification(LoadClient&, std::optional<Token> token) {
    const Nanos now = mono_now();
    if (!token) return ledger_.foreign();
    if (!ledger_.delivered(*token, now)) return;
    ++frames_;
    last_frame_ = now;
}

Result<void> Generator::connect_clients(std::span<const std::unique_ptr<LoadClient>> batch,
                                        std::size_t before) {
    opening_ = true;
    failures_ = 0;
    connecting_ = 0;
    ready_ = 0;
    std::size_t next = 0;
    const bool many = before + batch.size() > kPortsPerAddress;
    const Nanos deadline = mono_now() + options_.patience.count() * kMillisecond +
                           static_cast<Nanos>(batch.size()) * kMillisecond;
    const bool done = run_until(
        [&] {
            while (connecting_ < options_.connecting_max && next < batch.size() && failures_ == 0) {
                ++connecting_;
                batch[next]->connect(many ? source_of(before + next) : std::nullopt);
                ++next;
            }
            return ready_ >= batch.size() || failures_ > 0;
        },
        deadline);
    opening_ = false;
    if (failures_ > 0) {
        return core::fail(Fault::unavailable, "a client could not connect to " +
                                                  options_.url.text() + ": " + last_problem_ +
                                                  " (after " + std::to_string(ready_) + " others)");
    }
    if (!done) {
        return core::fail(Fault::timed_out, "only " + std::to_string(ready_) + " of " +
                                                std::to_string(batch.size()) +
                                                " clients were let in in time");
    }
    return {};
}

/// From now on clients connect there.
Result<void> Generator::find_server(const client::Url& url) {
    auto target = look_up(url);
    if (!target) return core::fail(target.error());
    client_plan_.server = std::move(*target);
    client_plan_.authority = url.authority();
    client_plan_.target = url.target;
    return {};
}

Result<void> Generator::open(std::size_t count) {
    if (auto ok = allow_descriptors(count + options_.senders); !ok) return ok;
    if (options_.body_bytes < kEncryptionOverhead) {
        return core::fail(Fault::invalid, "an encrypted body has at least " +
                                              std::to_string(kEncryptionOverhead) + " bytes");
    }
    if (clients_.empty()) {
        if (auto ok = prepare_posts(); !ok) return ok;
    }
    if (clients_.size() < count) {
        if (auto ok = register_clients(count); !ok) return ok;
    }
    return open_senders();
}

Result<void> Generator::register_clients(std::size_t count) {
    if (auto ok = find_server(options_.url); !ok) return ok;
    const std::size_t first = clients_.size();
    while (clients_.size() < count) {
        clients_.push_back(std::make_unique<LoadClient>(loop_, client_plan_, client_events()));
    }
    print("connecting " + std::to_string(count - first) + " clients with a channel each");
    const std::span all{clients_};
    if (auto ok = connect_clients(all.subspan(first), first); !ok) return ok;
    for (std::size_t i = first; i < count; ++i) {
        targets_.emplace_back(target_of(clients_[i]->endpoint()));
    }
    return options_.reconnect_to ? move_clients(first) : Result<void>{};
}

/// The clients from `first` on leave, and come back at the other server.
Result<void> Generator::move_clients(std::size_t first) {
    if (auto ok = find_server(*options_.reconnect_to); !ok) return ok;
    const auto moving = std::span{clients_}.subspan(first);
    for (const auto& client : moving) client->leave();
    print("connecting them to " + options_.reconnect_to->text());
    return connect_clients(moving, first);
}

// ---- senders ----

/// Prepares the parts that do not depend on the endpoint: the body, and the key if channels are
/// restricted to it.
Result<void> Generator::prepare_posts() {
    const auto message =
        client::encrypt(client::ReceiverKeys::generate().subscription(),
                        std::string(options_.body_bytes - kEncryptionOverhead, 'b'));
    if (!message) return core::fail(message.error());
    post_plan_.body = message->body;
    post_plan_.run = run_;
    if (options_.vapid != VapidUse::none && options_.vapid_key_file.empty()) {
        vapid_ = client::P256Key::generate();
    } else if (options_.vapid != VapidUse::none) {
        auto key = client::load_vapid_key(options_.vapid_key_file, client::IfMissing::fail);
        if (!key) return core::fail(key.error());
        vapid_ = std::move(*key);
    }
    if (options_.vapid == VapidUse::restrict_channels) {
        client_plan_.vapid_key = core::base64url(vapid_->public_point());
    }
    return {};
}

Result<void> Generator::open_senders() {
    const auto named = client::parse_url(clients_.front()->endpoint());
    if (!named) return core::fail(named.error());
    const client::Url url = options_.endpoint.value_or(*named);
    auto target = look_up(url);
    if (!target) return core::fail(target.error());
    post_plan_.server = std::move(*target);
    post_plan_.head = " HTTP/1.1\r\nHost: " + named->authority() +
                      "\r\nTTL: " + std::to_string(options_.ttl_s) +
                      "\r\nContent-Encoding: aes128gcm\r\nContent-Length: " +
                      std::to_string(options_.body_bytes) + "\r\n";
    if (vapid_) {
        const auto expires = std::chrono::duration_cast<std::chrono::seconds>(
            (std::chrono::system_clock::now() + std::chrono::hours{12}).time_since_epoch());
        const auto headers =
            vapid_headers(*vapid_, {named->origin(), expires, "mailto:bench@example.com"},
                          client::VapidScheme::vapid);
        post_plan_.head += "Authorization: " + headers.authorization + "\r\n";
    }
    post_plan_.head += "\r\n";
    SenderEvents& sender_events = *this;
    while (senders_.size() < options_.senders) {
        senders_.push_back(std::make_unique<LoadSender>(loop_, post_plan_, sender_events));
    }
    failures_ = 0;
    pipeline_ = 1;
    free_.clear();
    ended_.clear();
    for (const auto& sender : senders_) sender->connect();
    const bool done = run_until([&] { return free_.size() == senders_.size() || failures_ > 0; },
                                mono_now() + options_.patience.count() * kMillisecond);
    if (!done || failures_ > 0) {
        return core::fail(Fault::unavailable, "cannot connect to the endpoint " + url.origin());
    }
    return {};
}

/// A sender stands in `free_` once for every POST that it can take.
void Generator::on_sender_ready(LoadSender& sender) {
    free_.insert(free_.end(), pipeline_, &sender);
}

void Generator::on_reply(LoadSender& sender, std::uint32_t sequence, int status) {
    ledger_.answered(sequence, status, mono_now());
    if (sender.open() && sender.in_flight() < pipeline_) free_.push_back(&sender);
}

void Generator::on_sender_end(LoadSender& sender, const std::deque<std::uint32_t>& unanswered) {
    for (const auto sequence : unanswered) ledger_.unanswered(sequence);
    ++failures_;
    std::erase(free_, &sender);
    ended_.push_back(&sender);
}

bool Generator::pass_to(LoadSender& sender, const DuePost& due) {
    if (!sender.post(targets_[due.client], due.sequence)) return false;
    ledger_.left(due.sequence, mono_now());
    return true;
}

/// A message for the next client, due at `due`.
void Generator::issue(Nanos due) {
    next_client_ = (next_client_ + 1) % targeted_;
    waiting_.push_back({ledger_.issue(due), next_client_});
}

/// Gives what waits to free senders.
void Generator::send_waiting() {
    for (LoadSender* sender : std::exchange(ended_, {})) {
        if (sender->idle()) sender->connect();
    }
    while (!waiting_.empty() && !free_.empty()) {
        LoadSender* sender = free_.back();
        if (sender->unused_for(options_.reuse_for, mono_now())) {
            std::erase(free_, sender);
            sender->drop();
            sender->connect();
            continue;
        }
        free_.pop_back();
        if (pass_to(*sender, waiting_.front())) waiting_.pop_front();
    }
}

// ---- profiles ----

Result<Generator::ProcessCpu> Generator::cpu_now() const {
    ProcessCpu cpu;
    for (const auto& process : options_.processes) {
        const auto sample = sample_process(process.pid);
        if (!sample) return core::fail(sample.error());
        cpu.seconds.push_back(sample->cpu_s);
    }
    cpu.own = own_cpu_s();
    return cpu;
}

/// Waits for the replies and frames that are still to come.
void Generator::wait_for_replies() {
    run_until(
        [&] {
            send_waiting();
            return waiting_.empty() && ledger_.unreplied() == 0 && ledger_.undelivered() == 0;
        },
        mono_now() + options_.patience.count() * kMillisecond);
}

template <class Run>
Result<Traffic> Generator::measure(const Span& span, Run run) {
    lost_ = 0;
    run(span.warm_up);
    const auto before = cpu_now();
    if (!before) return core::fail(before.error());
    const Nanos start = mono_now();
    ledger_.start(start);
    run(span.measured);
    ledger_.stop();
    Traffic traffic;
    traffic.seconds = seconds(mono_now() - start);
    const auto after = cpu_now();
    if (!after) return core::fail(after.error());
    for (std::size_t i = 0; i < options_.processes.size(); ++i) {
        traffic.cpu.push_back({options_.processes[i].name, after->seconds[i] - before->seconds[i]});
    }
    traffic.own_cpu_s = after->own - before->own;
    wait_for_replies();
    traffic.tally = ledger_.result();
    traffic.clients_lost = lost_;
    return traffic;
}

void Generator::run_at_rate(double rate, std::chrono::nanoseconds span) {
    const Nanos start = mono_now();
    const Nanos end = start + span.count();
    const double gap = static_cast<double>(kSecond) / rate;
    for (std::uint64_t sent = 0;;) {
        const Nanos now = mono_now();
        Nanos due = start + static_cast<Nanos>(static_cast<double>(sent) * gap);
        while (due <= now && due < end && waiting_.size() < kWaitingMax) {
            issue(due);
            due = start + static_cast<Nanos>(static_cast<double>(++sent) * gap);
        }
        send_waiting();
        if (now >= end) return;
        loop_.run_once(std::min(due, end));
    }
}

Result<Traffic> Generator::at_rate(double rate, const Span& span) {
    pipeline_ = 1;
    targeted_ = clients_.size();
    print("sending " + std::to_string(static_cast<long>(rate)) + " messages/s");
    return measure(span, [&](std::chrono::nanoseconds part) { run_at_rate(rate, part); });
}

void Generator::run_saturated(std::chrono::nanoseconds span, std::size_t undelivered_max) {
    const Nanos end = mono_now() + span.count();
    for (Nanos now = mono_now(); now < end; now = mono_now()) {
        while (waiting_.size() < free_.size() && ledger_.undelivered() < undelivered_max) {
            issue(now);
        }
        send_waiting();
        loop_.run_once(std::min(end, now + kMillisecond));
    }
}

Result<Traffic> Generator::saturated(const Span& span, std::size_t undelivered_max) {
    pipeline_ = options_.pipeline;
    targeted_ = clients_.size();
    for (std::size_t more = 1; more < pipeline_; ++more) {
        for (const auto& sender : senders_) {
            if (sender->open()) free_.push_back(sender.get());
        }
    }
    print("saturating with " + std::to_string(senders_.size() * pipeline_) + " POSTs in flight");
    auto traffic =
        measure(span, [&](std::chrono::nanoseconds part) { run_saturated(part, undelivered_max); });
    std::sort(free_.begin(), free_.end());
    free_.erase(std::unique(free_.begin(), free_.end()), free_.end());
    return traffic;
}

}  // namespace beckon::bench
