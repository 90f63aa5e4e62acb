#include "app/process/housekeeping.hpp"

#include "core/logger.hpp"
#include "core/pause.hpp"
#include "core/time_text.hpp"
#include "log/event_log.hpp"
#include "ops/metric_names.hpp"

#include <cstdint>
#include <system_error>
#include <utility>

#include <pthread.h>

namespace beckon::app {

namespace fs = std::filesystem;

namespace {

std::int64_t whole_mebibytes(double bytes) { return static_cast<std::int64_t>(bytes) >> 20; }

}  // namespace

Housekeeping::Housekeeping(std::vector<std::function<void()>> chores)
    : thread_([chores = std::move(chores)](const std::stop_token& stop) {
          pthread_setname_np(pthread_self(), "housekeeping");
          do {
              for (const auto& chore : chores) chore();
          } while (core::pause(stop, kEvery));
      }) {}

bool Due::every(core::Duration period) {
    if (std::chrono::steady_clock::now() < next_) return false;
    in(period);
    return true;
}

std::optional<core::Duration> ClockWatch::poll() {
    const auto before = clock_.mono();
    const core::Duration wall = clock_.wall().time_since_epoch();
    if (clock_.mono() - before > kOneMoment) return std::nullopt;
    const auto offset = wall - before.time_since_epoch();
    if (!offset_) offset_ = offset;
    const auto set_by = offset - *offset_;
    offset_ = offset;
    if (std::chrono::abs(set_by) < kWorthALine) return std::nullopt;
    return set_by;
}

void ClockWatch::look() {
    const auto set_by = poll();
    if (!set_by) return;
    core::log_warn(
        "app", "clock_set",
        {{"seconds", std::chrono::duration<double>(*set_by).count()},
         {"note", "VAPID tokens are judged by this clock; messages expire by the log's time"}});
}

std::string clock_warning(core::Duration ahead) {
    const auto seconds = std::chrono::round<std::chrono::seconds>(ahead);
    if (std::chrono::abs(seconds) < LogClockWatch::kTooFar) return {};
    return "this host's clock is " + std::to_string(std::chrono::abs(seconds).count()) + " s " +
           (seconds.count() > 0 ? "ahead of" : "behind") +
           " the log's time (on Kafka: the brokers' clock). One of the two is wrong. VAPID tokens "
           "are judged by the host's clock: if it is wrong, good senders get 401";
}

LogClockWatch::LogClockWatch(const log::EventLog& log, ops::Health& health, ops::Metrics& metrics)
    : log_(log),
      health_(health),
      gauge_(metrics.gauge(ops::metric::kClockAhead,
                           "By how much the host's clock is ahead of the log's time "
                           "(negative: behind), where one of them must be wrong.")) {}

void LogClockWatch::look() {
    const auto ahead = log_.clock_ahead().value_or(core::Duration::zero());
    gauge_.Set(std::chrono::duration<double>(ahead).count());
    const auto why = clock_warning(ahead);
    health_.set_warning("clock", why);
    if (why.empty() != warned_) return;
    warned_ = !warned_;
    if (warned_) core::log_warn("app", "clock_wrong", {{"why", why}});
    if (!warned_) core::log_info("app", "clock_right_again", {});
}

void HostWatch::look() {
    if (!due_.every(kLookEvery)) return;
    std::error_code error;
    const auto space = fs::space(data_, error);
    if (!error) {
        disk(static_cast<double>(space.available), static_cast<double>(space.capacity));
    }
    for (const auto& one : certificates_) certificate(one);
}

void HostWatch::disk(double free, double size) {
    const bool filling = core::disk_level(free, size) != core::DiskLevel::ok;
    if (filling == std::exchange(filling_, filling)) return;
    if (filling) {
        core::log_warn("app", "disk_filling",
                       {{"data", data_.string()},
                        {"free_mib", whole_mebibytes(free)},
                        {"size_mib", whole_mebibytes(size)},
                        {"note", "on a full disk nothing new is accepted"}});
    } else {
        core::log_info("app", "disk_no_longer_filling",
                       {{"data", data_.string()}, {"free_mib", whole_mebibytes(free)}});
    }
}

void HostWatch::certificate(const CertificateFile& one) {
    const auto now = clock_.mono();
    const auto next = next_line_.find(one.file);
    if (next != next_line_.end() && now < next->second) return;
    const auto expires = expiry_of(one);
    if (!expires) return;
    const auto ends = std::chrono::floor<std::chrono::milliseconds>(*expires);
    const auto left = ends - clock_.wall();
    if (left > core::kCertificateLeft) return;
    next_line_[one.file] = now + kCertificateLineEvery;
    core::log_warn("app", "certificate_ends",
                   {{"file", one.file.string()},
                    {"until", core::time_text_in_seconds(ends)},
                    {"days_left", std::chrono::floor<std::chrono::days>(left).count()}});
}

LoginWatch::LoginWatch(const log::KafkaConfig& config, ops::Health& health)
    : config_(config),
      health_(health),
      has_login_(config.librdkafka_files.contains("sasl.username") ||
                 config.librdkafka_files.contains("sasl.password")),
      login_(log::read_kafka_login(config).value_or(log::KafkaLogin{})),
      certificate_(certificate()) {}

void LoginWatch::look() {
    if (!asked_.exchange(false) && !due_.every(kReadEvery)) return;
    if (has_login_) look_at_login();
    if (!certificate_.empty()) look_at_certificate();
}

void LoginWatch::look_at_login() {
    const auto read = log::read_kafka_login(config_);
    const auto why = read ? std::string{} : read.error().message;
    if (std::exchange(warned_, why) != why && !why.empty()) {
        core::log_warn("app", "kafka_login_not_read", {{"why", why}});
    }
    if (!read || *read == login_) return;
    login_ = *read;
    log::use_kafka_login(login_);
    core::log_info("app", "kafka_login_renewed", {{"user", login_.username}});
}

void LoginWatch::look_at_certificate() {
    const auto now = certificate();
    if (now.empty() || now == certificate_) return health_.set_warning("kafka_certificate", "");
    health_.set_warning("kafka_certificate",
                        "the certificate for Kafka has changed on the disk, and this process goes "
                        "on with the one of its start: restart it before that one ends");
}

std::string LoginWatch::certificate() const {
    const auto file = config_.librdkafka.find("ssl.certificate.location");
    if (file == config_.librdkafka.end()) return {};
    return log::read_option_file(file->second).value_or("");
}

}  // namespace beckon::app
