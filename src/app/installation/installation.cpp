#include "app/installation/installation.hpp"

#include "app/installation/copy_checksums.hpp"
#include "app/installation/key_ring_guard.hpp"
#include "core/ids.hpp"
#include "core/time_guard.hpp"

namespace beckon::app {

namespace {

constexpr std::chrono::milliseconds kControlTimeout{10'000};

}  // namespace

log::LayoutOptions layout_of(log::LayoutOptions asked, const log::Control& control) {
    asked.partitions = control.partitions;
    asked.tiers = control.tiers;
    return asked;
}

Installation::Installation(Config& config) {
    if (config.on_kafka()) {
        config.kafka.client_id = core::NodeId::random().text;
        log_ = log::open_kafka_log(config.kafka);
        return;
    }
    if (!has_embedded_log(config)) {
        throw StartupError("there is no log in " + (config.data / "log").string() +
                           ": `beckon standalone` makes it at its first start (--data names "
                           "another directory, --kafka-servers the brokers)");
    }
    directory_ = std::make_unique<DataDirectory>(config.data);
    accept_copy(config.data);
    config.embedded.directory = config.data / "log";
    config.embedded.clock = &clock_;
    config.embedded.clock_is_disciplined = core::host_clock_is_disciplined;
    config.embedded.boot_id = core::boot_id();
    config.embedded.partitions = config.layout.partitions;
    log_ = log::open_embedded_log(config.embedded);
}

const log::Control& Installation::control() {
    if (!control_) {
        auto read = log::read_control(*log_, kControlTimeout);
        if (!read) throw StartupError("cannot read control: " + read.error().message);
        control_ = std::move(*read);
    }
    return *control_;
}

void Installation::write(const log::Control& changed) {
    const auto written = log::write_control(*log_, changed, control(), kControlTimeout);
    if (!written) throw StartupError("cannot write control: " + written.error().message);
    control_ = changed;
}

}  // namespace beckon::app
