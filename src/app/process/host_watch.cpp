#include "app/process/host_watch.hpp"

#include "core/logger.hpp"
#include "core/pause.hpp"
#include "core/time_text.hpp"
#include "net/self_signed.hpp"

#include <cstdint>
#include <system_error>
#include <utility>

#include <pthread.h>

namespace beckon::app {

namespace fs = std::filesystem;

namespace {

std::int64_t whole_mebibytes(double bytes) { return static_cast<std::int64_t>(bytes) >> 20; }

}  // namespace

void HostWatch::disk(const fs::path& data, double free, double size) {
    const bool filling = core::disk_level(free, size) != core::DiskLevel::ok;
    if (filling == std::exchange(filling_, filling)) return;
    if (filling) {
        core::log_warn("app", "disk_filling",
                       {{"data", data.string()},
                        {"free_mib", whole_mebibytes(free)},
                        {"size_mib", whole_mebibytes(size)},
                        {"note", "on a full disk nothing new is accepted"}});
    } else {
        core::log_info("app", "disk_no_longer_filling",
                       {{"data", data.string()}, {"free_mib", whole_mebibytes(free)}});
    }
}

void HostWatch::certificate(const fs::path& file) {
    const auto now = clock_.mono();
    const auto next = next_line_.find(file);
    if (next != next_line_.end() && now < next->second) return;
    const auto facts = net::read_certificate(file);
    if (!facts) return;
    const auto ends = std::chrono::floor<std::chrono::milliseconds>(facts->expires);
    const auto left = ends - clock_.wall();
    if (left > core::kCertificateLeft) return;
    next_line_[file] = now + kCertificateLineEvery;
    core::log_warn("app", "certificate_ends",
                   {{"file", file.string()},
                    {"until", core::time_text_in_seconds(ends)},
                    {"days_left", std::chrono::floor<std::chrono::days>(left).count()}});
}

HostWatcher::HostWatcher(const core::Clock& clock, fs::path data,
                         std::vector<fs::path> certificates)
    : thread_([&clock, data = std::move(data),
               certificates = std::move(certificates)](const std::stop_token& stop) {
          pthread_setname_np(pthread_self(), "host-watch");
          HostWatch watch{clock};
          do {
              std::error_code error;
              const auto space = fs::space(data, error);
              if (!error) {
                  watch.disk(data, static_cast<double>(space.available),
                             static_cast<double>(space.capacity));
              }
              for (const auto& file : certificates) watch.certificate(file);
          } while (core::pause(stop, kEvery));
      }) {}

}  // namespace beckon::app
