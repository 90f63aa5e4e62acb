#include "log/kafka/metadata.hpp"

#include "log/kafka/patience.hpp"
#include "log/kafka/report.hpp"

namespace beckon::log::kafka {

namespace {

/// One request waits so long.
constexpr int kMetadataAskMs = 1000;

}  // namespace

core::Result<MetadataHandle> ask_metadata(rd_kafka_t* client, const KafkaEvents& events,
                                          std::chrono::milliseconds limit, const std::string& what,
                                          const std::stop_token& stop) {
    const core::SystemClock clock;
    Patience patience{events, limit, stop, clock};
    const rd_kafka_metadata_t* metadata = nullptr;
    auto error = RD_KAFKA_RESP_ERR_NO_ERROR;
    do {
        error = rd_kafka_metadata(client, 1, nullptr, &metadata, kMetadataAskMs);
        if (error == RD_KAFKA_RESP_ERR_NO_ERROR) return MetadataHandle{metadata};
    } while (fault_of(error) == core::Fault::unavailable && patience.again());
    if (auto why = events.login_refusal(); !why.empty()) {
        return core::fail(core::Fault::unauthorized, std::move(why));
    }
    const auto away = events.why_away();
    return core::fail(fault_of(error), "cannot " + what + " at " + events.servers() + ": " +
                                           (away.empty() ? rd_kafka_err2str(error) : away));
}

}  // namespace beckon::log::kafka
