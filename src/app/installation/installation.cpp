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

Installation::Installation(const Config& config) {
    if (config.on_kafka()) {
        auto kafka = config.kafka;
        kafka.client_id = core::NodeId::random().text;
        log_ = log::open_kafka_log(kafka);
        return;
    }
    if (!has_embedded_log(config)) {
        throw StartupError("there is no log in " + (config.data / "log").string() +
                           ": `beckon standalone` makes it at its first start (--data names "
                           "another directory, --kafka-servers the brokers)");
    }
    directory_ = std::make_unique<DataDirectory>(config.data);
    accept_copy(config.data);
    auto embedded = config.embedded;
    embedded.directory = config.data / "log";
    embedded.clock = &clock_;
    embedded.clock_is_disciplined = core::host_clock_is_disciplined;
    embedded.boot_id = core::boot_id();
    embedded.partitions = config.layout.partitions;
    log_ = log::open_embedded_log(embedded);
}

const log::Control& Installation::control() {
    if (!control_)
        control_ = must(log::read_control(*log_, kControlTimeout), "cannot read control: ");
    return *control_;
}

void Installation::write(const log::Control& changed) {
    must(log::write_control(*log_, changed, control(), kControlTimeout), "cannot write control: ");
    control_ = changed;
}

}  // namespace beckon::app
