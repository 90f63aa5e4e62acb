#include "bench/bench.hpp"

#include "bench/bench_report.hpp"
#include "bench/load/generator.hpp"
#include "bench/rate_search.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <iostream>
#include <string>
#include <utility>

namespace beckon::bench {

namespace {

using core::Fault;
using core::Result;

constexpr int kDrainRounds = 3;
constexpr std::array<std::string_view, 6> kProfiles{"fill",       "idle",  "latency",
                                                    "saturation", "drain", "sustained"};
/// A server that keeps up delivers so much of what was due.
constexpr double kDelivered = 0.99;

void print_error(const std::string& line) { std::cerr << line << std::endl; }

std::chrono::nanoseconds nanos(double seconds) {
    return std::chrono::nanoseconds{static_cast<std::int64_t>(seconds * 1e9)};
}

Result<VapidUse> vapid_use(const std::string& name) {
    if (name == "none") return VapidUse::none;
    if (name == "sign") return VapidUse::sign;
    if (name == "restrict") return VapidUse::restrict_channels;
    return core::fail(Fault::invalid,
                      "--vapid is '" + name + "', it must be one of none, sign, restrict");
}

Result<std::optional<client::Url>> endpoint_url(const std::string& text) {
    if (text.empty()) return std::optional<client::Url>{};
    auto url = client::parse_url(text.find("://") == std::string::npos ? "http://" + text : text);
    if (!url) return core::fail(url.error());
    if (!url->scheme.starts_with("http")) {
        return core::fail(Fault::invalid, "'" + text + "' must be http, https or host:port");
    }
    return std::optional{std::move(*url)};
}

Result<void> check_numbers(const BenchOptions& options) {
    const auto wrong = [](const std::string& why) { return core::fail(Fault::invalid, why); };
    if (options.connections == 0) return wrong("--connections must be at least 1");
    if (options.senders == 0) return wrong("--senders must be at least 1");
    if (options.pipeline == 0) return wrong("--pipeline must be at least 1");
    if (!(options.rate > 0)) return wrong("--rate must be more than 0 messages/s");
    if (!(options.rate_max > 0)) return wrong("--rate-max must be more than 0 messages/s");
    if (!(options.p99_ms > 0)) return wrong("--p99 must be more than 0 ms");
    if (!(options.duration_s > 0)) return wrong("--duration must be more than 0 s");
    if (!(options.warm_up_s >= 0)) return wrong("--warm-up must not be negative");
    if (options.profiles.empty()) return wrong("no profile to run");
    for (const auto& profile : options.profiles) {
        if (std::ranges::find(kProfiles, profile) == kProfiles.end()) {
            return wrong(
                "'" + profile +
                "' is not a profile: use fill, idle, latency, saturation, drain or sustained");
        }
    }
    return {};
}

Result<GeneratorOptions> generator_options(const BenchOptions& options) {
    if (auto ok = check_numbers(options); !ok) return core::fail(ok.error());
    GeneratorOptions out;
    auto url = client::parse_ws_url(options.url);
    if (!url) return core::fail(url.error());
    out.url = std::move(*url);
    if (!options.reconnect_to.empty()) {
        auto other = client::parse_ws_url(options.reconnect_to);
        if (!other) return core::fail(other.error());
        out.reconnect_to = std::move(*other);
    }
    auto endpoint = endpoint_url(options.endpoint);
    if (!endpoint) return core::fail(endpoint.error());
    out.endpoint = std::move(*endpoint);
    const auto vapid = vapid_use(options.vapid);
    if (!vapid) return core::fail(vapid.error());
    out.vapid = *vapid;
    out.vapid_key_file = options.vapid_key_file;
    out.body_bytes = options.body_bytes;
    out.ttl_s = options.ttl_s;
    out.senders = options.senders;
    out.pipeline = options.pipeline;
    out.patience = std::chrono::duration_cast<std::chrono::milliseconds>(nanos(options.patience_s));
    for (const auto& text : options.pids) {
        auto process = parse_process(text);
        if (!process) return core::fail(process.error());
        out.processes.push_back(std::move(*process));
    }
    if (!options.json) {
        out.progress = [](const std::string& line) { print_error("... " + line); };
    }
    return out;
}

/// Why the server did not do what was asked of it at this rate; empty: it did.
std::string why_too_much(const Traffic& traffic, double rate, const BenchOptions& options) {
    const auto& tally = traffic.tally;
    const auto count = [](std::uint64_t n, const char* what) { return std::to_string(n) + what; };
    if (tally.missing > 0) return count(tally.missing, " accepted messages did not arrive");
    if (tally.unanswered > 0) return count(tally.unanswered, " POSTs had no answer");
    if (!tally.refused.empty()) {
        const auto& [status, times] = *tally.refused.begin();
        return count(times, " answers were ") + std::to_string(status);
    }
    if (traffic.clients_lost > 0) return count(traffic.clients_lost, " clients were lost");
    if (static_cast<double>(tally.delivered) < rate * options.duration_s * kDelivered) {
        return count(tally.delivered, " messages were delivered, too few");
    }
    if (tally.to_frame.at(0.99) > nanos(options.p99_ms / 1'000).count()) return "too slow";
    return {};
}

/// Runs the profiles and collects what they measured.
class Bench {
public:
    Bench(const BenchOptions& options, GeneratorOptions generator_options)
        : options_(options), generator_(std::move(generator_options)), report_(options) {}

    Result<void> run() {
        // Idle first: memory that traffic has freed would hide the growth.
        for (const auto profile : kProfiles) {
            if (std::ranges::find(options_.profiles, profile) == options_.profiles.end()) continue;
            if (auto done = run(profile); !done) {
                return core::fail(done.error().fault,
                                  std::string{profile} + ": " + done.error().message);
            }
        }
        return {};
    }
    const BenchReport& report() const { return report_; }

private:
    Result<void> run(std::string_view profile) {
        if (profile == "idle") return idle();
        if (profile == "drain") return drain();
        if (auto ok = generator_.open(options_.connections); !ok) return ok;
        if (profile == "sustained") return sustained();
        if (profile == "fill") return fill();
        const auto span = this->span();
        auto traffic = profile == "latency" ? generator_.at_rate(options_.rate, span)
                                            : generator_.saturated(span, ahead());
        if (!traffic) return core::fail(traffic.error());
        report_.add(std::string{profile}, *traffic);
        return {};
    }

    std::size_t ahead() const {
        return options_.ahead == 0 ? Ledger::kFollowedMax / 2
                                   : options_.ahead * options_.connections;
    }
    Span span() const { return {nanos(options_.warm_up_s), nanos(options_.duration_s)}; }

    Result<void> sustained() {
        RateSearch search{options_.rate, options_.rate_max};
        std::vector<SustainedTrial> trials;
        std::optional<Traffic> best;
        while (const auto rate = search.next()) {
            auto traffic = generator_.at_rate(*rate, span());
            if (!traffic) return core::fail(traffic.error());
            auto why = why_too_much(*traffic, *rate, options_);
            const bool kept_up = why.empty();
            search.tried(*rate, kept_up);
            trials.push_back({*rate, traffic->tally.to_frame.at(0.99), std::move(why)});
            if (kept_up) best = std::move(*traffic);
        }
        report_.add(search.best(), trials, best);
        return {};
    }

    Result<void> idle() {
        const auto memory = generator_.idle(options_.idle_connections, options_.idle_register);
        if (!memory) return core::fail(memory.error());
        report_.add(*memory);
        return {};
    }

    Result<void> fill() {
        const Nanos start = mono_now();
        const auto accepted = generator_.fill(options_.fill_messages);
        if (!accepted) return core::fail(accepted.error());
        report_.add_fill(*accepted, static_cast<double>(mono_now() - start) / kSecond);
        if (*accepted == options_.fill_messages) return {};
        return core::fail(Fault::unavailable, "only " + std::to_string(*accepted) + " of " +
                                                  std::to_string(options_.fill_messages) +
                                                  " messages were accepted");
    }

    Result<void> drain() {
        if (auto ok = generator_.open(std::max(options_.connections, options_.drain_clients)); !ok)
            return ok;
        std::vector<DrainRound> rounds;
        for (int i = 0; i < kDrainRounds; ++i) {
            const auto round = generator_.drain(options_.drain_clients, options_.drain_messages);
            if (!round) return core::fail(round.error());
            rounds.push_back(*round);
        }
        report_.add(rounds);
        return {};
    }

    const BenchOptions& options_;
    Generator generator_;
    BenchReport report_;
};

Result<void> write_json(const std::filesystem::path& file, const std::string& text) {
    std::ofstream out{file};
    out << text << '\n';
    out.close();
    if (!out) return core::fail(Fault::unavailable, "cannot write " + file.string());
    return {};
}

}  // namespace

int run_bench(const BenchOptions& options) {
    auto prepared = generator_options(options);
    if (!prepared) {
        print_error(prepared.error().message);
        return kWrongOptions;
    }
    Bench bench{options, std::move(*prepared)};
    const auto done = bench.run();
    const BenchReport& report = bench.report();
    std::cout << (options.json ? report.document() : report.table()) << std::endl;
    if (!done) print_error(done.error().message);
    if (options.json_file) {
        if (auto written = write_json(*options.json_file, report.document()); !written) {
            print_error(written.error().message);
            return kFailed;
        }
    }
    if (!report.sound()) print_error("messages are missing or clients were lost: see above");
    return done && report.sound() ? kDone : kFailed;
}

}  // namespace beckon::bench
