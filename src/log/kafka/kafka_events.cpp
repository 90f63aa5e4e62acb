#include "log/kafka/kafka_events.hpp"

#include "core/logger.hpp"

#include <algorithm>
#include <array>

namespace beckon::log::kafka {

namespace {

constexpr std::chrono::seconds kEvery{5};
/// syslog(3): up to this level something is wrong.
constexpr int kWarning = 4;

/// Facilities of lines that mean "no broker": a connection that failed or ended, a name that does
/// not resolve, an error that concerns all brokers, a request without an answer.
constexpr std::array<std::string_view, 4> kAway = {"FAIL", "ERROR", "REQTMOUT", "RESOLVE"};

bool is_away(std::string_view facility) {
    return std::find(kAway.begin(), kAway.end(), facility) != kAway.end();
}

bool is_away(rd_kafka_resp_err_t code) {
    return code == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN || code == RD_KAFKA_RESP_ERR__TRANSPORT ||
           code == RD_KAFKA_RESP_ERR__RESOLVE || code == RD_KAFKA_RESP_ERR__TIMED_OUT ||
           code == RD_KAFKA_RESP_ERR__SSL;
}

/// A broker's answer to a wrong name or password, or to a mechanism that it does not have; not
/// librdkafka's error of a connection that ended meanwhile.
bool is_login_refused(std::string_view text) {
    constexpr std::array<std::string_view, 3> kRefusals = {
        "SASL authentication error: ", "SASL handshake failed: ", "mechanism handshake failed: "};
    const bool refused = std::any_of(kRefusals.begin(), kRefusals.end(), [&](auto refusal) {
        return text.find(refusal) != std::string_view::npos;
    });
    return refused && text.find("Local: ") == std::string_view::npos;
}

/// Before 2.6.1 librdkafka repeats its own part of the nonce, which Kafka 4 takes for a forgery.
constexpr int kScramSince = 0x02060100;

/// Lines that are certain to come and mean nothing: every client gets the user's options, and
/// librdkafka complains where one is for the other kind of client.
/// A fatal error is logged elsewhere too, and so is the last of several errors of OpenSSL.
bool is_noise(std::string_view facility) {
    return facility == "CONFWARN" || facility == "FATAL" || facility == "SSL";
}

/// A broker has ended a connection. That is no fault in itself: it may have been idle, or the
/// broker stops.
bool is_closed(std::string_view text) {
    return text.find(": Disconnected") != std::string_view::npos;
}

/// librdkafka takes the end of a connection for a client with the wrong protocol.
bool is_about_protocol(std::string_view text) {
    return text.find("security.protocol") != std::string_view::npos;
}

/// A port without TLS ends a handshake of TLS at once, or answers with something else.
bool is_no_tls(std::string_view text) {
    const bool handshake = text.find("SSL handshake failed") != std::string_view::npos ||
                           text.find("in state SSL_HANDSHAKE") != std::string_view::npos;
    return handshake && (text.find("unexpected eof") != std::string_view::npos ||
                         text.find("wrong version number") != std::string_view::npos ||
                         text.find("Disconnected") != std::string_view::npos);
}

/// librdkafka says so twice, and names the setting the second time alone.
bool is_unknown_issuer(std::string_view text) {
    return text.find("certificate verify failed") != std::string_view::npos &&
           text.find("ssl.ca.location") == std::string_view::npos;
}

/// That all are down follows from what was said of each. librdkafka says it too when brokers have
/// closed connections that were idle.
bool is_of_one_broker(std::string_view text) {
    return text.find("brokers are down") == std::string_view::npos;
}

/// Without the thread that librdkafka names in log lines: "[thrd:…]: ".
std::string_view without_thread(std::string_view text) {
    constexpr std::string_view kEnd = "]: ";
    const auto end = text.find(kEnd);
    if (!text.starts_with("[thrd:") || end == std::string_view::npos) return text;
    return text.substr(end + kEnd.size());
}

/// A line of a client about its connections while it is destroyed.
bool is_ending(std::string_view text) {
    return text.find("Local: Broker handle destroyed") != std::string_view::npos;
}

}  // namespace

void KafkaEvents::line(int level, std::string_view facility, std::string_view text) {
    if (is_noise(facility) || is_ending(text)) return;
    text = without_thread(text);
    const bool wrong_protocol = is_closed(text) && is_about_protocol(text);
    if (!wrong_protocol && (level > kWarning || is_closed(text))) {
        core::log_debug("log", "librdkafka", {{"facility", facility}, {"text", text}});
        return;
    }
    if (is_login_refused(text)) return login_refused(text);
    if (is_away(facility)) return no_broker(text);
    if (!is_due(std::string{facility})) return;
    core::log_warn("log", "librdkafka", {{"facility", facility}, {"text", text}});
}

void KafkaEvents::error(rd_kafka_resp_err_t code, std::string_view text) {
    if (is_closed(text) && !is_about_protocol(text)) return;
    if (is_login_refused(text)) return login_refused(text);
    if (code == RD_KAFKA_RESP_ERR__AUTHENTICATION && !login_refusal().empty()) return;
    if (is_away(code)) return no_broker(text);
    const std::string name = rd_kafka_err2name(code);
    if (is_due(name)) core::log_warn("log", "librdkafka", {{"error", name}, {"text", text}});
}

void KafkaEvents::login_refused(std::string_view why) {
    away_ = true;
    // "[thread]: broker: SASL authentication error: …"
    auto refusal = "the broker refuses the login (sasl.username, sasl.password, sasl.mechanism): " +
                   std::string{why.substr(why.find("SASL "))};
    if (why.find("SCRAM") != std::string_view::npos && rd_kafka_version() < kScramSince) {
        refusal += "; Kafka 4 refuses SCRAM of librdkafka " + std::string{rd_kafka_version_str()} +
                   " in any case, which 2.6.1 mends: use PLAIN over TLS";
    }
    {
        const std::scoped_lock lock{mutex_};
        login_refusal_ = refusal;
    }
    if (!is_due("login")) return;
    core::log_warn("log", "login_refused", {{"servers", servers_}, {"why", refusal}});
}

std::string KafkaEvents::login_refusal() const {
    const std::scoped_lock lock{mutex_};
    return login_refusal_;
}

void KafkaEvents::refused(const std::string& why) {
    if (is_due(why)) core::log_warn("log", "not_authorized", {{"why", why}});
}

bool KafkaEvents::has_refused(const std::string& why) const {
    const std::scoped_lock lock{mutex_};
    return last_.contains(why);
}

std::string KafkaEvents::why_away() const {
    const std::scoped_lock lock{mutex_};
    return why_away_;
}

void KafkaEvents::no_broker(std::string_view text) {
    if (!is_of_one_broker(text) && why_away().empty()) return;
    away_ = true;
    auto why = std::string{text};
    if (is_no_tls(text)) why += "; is this a port without TLS (see security.protocol)?";
    if (is_unknown_issuer(text)) why += "; is ssl.ca.location the CA of the broker's certificate?";
    if (is_of_one_broker(why)) {
        const std::scoped_lock lock{mutex_};
        why_away_ = why;
    }
    if (!login_refusal().empty()) return;  // which is logged
    if (!is_due("no_broker")) return;
    core::log_warn("log", "no_broker", {{"servers", servers_}, {"state", "trying"}, {"why", why}});
}

bool KafkaEvents::is_due(const std::string& kind) {
    const auto now = std::chrono::steady_clock::now();
    const std::scoped_lock lock{mutex_};
    const auto [last, first] = last_.try_emplace(kind, now);
    if (!first && now - last->second < kEvery) return false;
    last->second = now;
    return true;
}

void KafkaEvents::back() {
    if (!away_.exchange(false)) return;
    {
        const std::scoped_lock lock{mutex_};
        login_refusal_.clear();
        why_away_.clear();
    }
    core::log_info("log", "broker_answers", {{"servers", servers_}});
}

void KafkaEvents::log_callback(const rd_kafka_t* client, int level, const char* facility,
                               const char* text) noexcept {
    // While a client is being made it has no name yet, and its lines start with the thread's.
    if (auto* events = static_cast<KafkaEvents*>(rd_kafka_opaque(client))) {
        events->line(level, facility, text);
    }
}

using std::chrono::milliseconds;

namespace {

std::int64_t ms(core::MonoTime time) {
    return std::chrono::floor<milliseconds>(time.time_since_epoch()).count();
}

}  // namespace

void ClockDifference::learn(core::Timestamp appended, core::Duration took) {
    const auto seen = clock_.wall();
    const auto sent = seen - std::chrono::ceil<milliseconds>(took);
    milliseconds ahead{0};
    if (appended < sent) ahead = sent - appended;
    if (appended > seen) ahead = seen - appended;
    ahead_ms_.store(ahead.count(), std::memory_order_relaxed);
    learned_ms_.store(ms(clock_.mono()), std::memory_order_relaxed);
}

std::optional<core::Duration> ClockDifference::ahead() const {
    const auto learned = learned_ms_.load(std::memory_order_relaxed);
    if (learned == kNever) return std::nullopt;
    if (milliseconds{ms(clock_.mono()) - learned} > kProofLife) return std::nullopt;
    return milliseconds{ahead_ms_.load(std::memory_order_relaxed)};
}

}  // namespace beckon::log::kafka
