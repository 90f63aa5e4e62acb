#include "tools/subscriptions/subscriptions_tool.hpp"

#include "app/process/installation.hpp"
#include "core/codec.hpp"
#include "core/events.hpp"
#include "core/json_text.hpp"
#include "core/partition.hpp"
#include "log/blocking_executor.hpp"
#include "log/checked_publisher.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <iostream>
#include <optional>
#include <vector>

#include <nlohmann/json.hpp>

namespace beckon::tools {

namespace {

using nlohmann::json;

/// Records on their way to the log.
constexpr std::size_t kUnansweredMax = 1'000;
constexpr std::chrono::seconds kAnswerTimeout{60};
/// Below every lease's epoch: all later records of a home are newer.
constexpr core::WriteStamp kImported{.epoch = 0, .seq = 1};
/// The year 2106; a time in milliseconds is above it from 50 days after 1970 on.
constexpr std::uint64_t kLastSeenMax = 4'294'967'295;
constexpr std::array<std::string_view, 5> kMembers{"uaid", "channelIDs", "router_type",
                                                   "router_data", "last_seen"};

struct ImportedClient {
    core::Uaid uaid;
    core::RouterType router_type = core::RouterType::webpush;
    std::optional<std::string> router_data;
    std::optional<core::Timestamp> last_seen;
    std::vector<core::ChannelId> channels;
};

tl::unexpected<core::Error> invalid(std::string what) {
    return core::fail(core::Fault::invalid, std::move(what));
}

std::optional<std::array<std::uint8_t, 16>> uuid_of(const json& value) {
    if (!value.is_string()) return std::nullopt;
    return core::parse_uuid(value.get_ref<const std::string&>());
}

core::Result<void> read_router(const json& object, ImportedClient& client) {
    const auto type = object.value("router_type", json("webpush"));
    const auto known = type.is_string()
                           ? core::parse_router_type(type.get_ref<const std::string&>())
                           : std::nullopt;
    if (!known) return invalid("router_type must be webpush, fcm, apns or webhook");
    client.router_type = *known;
    const auto data = object.find("router_data");
    const bool bridged = *known != core::RouterType::webpush;
    if (bridged != (data != object.end() && data->is_object())) {
        return invalid(bridged ? "router_data must be an object, with the bridge's token"
                               : "router_data is not for webpush clients");
    }
    if (bridged) client.router_data = core::json_text(*data);
    return {};
}

core::Result<ImportedClient> parse_client(const std::string& line) {
    const auto object = core::parse_json(line);
    if (!object.is_object()) return invalid("not a JSON object");
    for (const auto& item : object.items()) {
        if (std::find(kMembers.begin(), kMembers.end(), item.key()) == kMembers.end()) {
            return invalid("unknown member \"" + item.key() +
                           "\"; allowed are uaid, channelIDs, router_type, router_data, last_seen");
        }
    }
    ImportedClient client;
    const auto uaid = uuid_of(object.value("uaid", json{}));
    if (!uaid) return invalid("uaid must be a UUID");
    client.uaid = core::Uaid{*uaid};
    const auto channels = object.find("channelIDs");
    if (channels == object.end() || !channels->is_array()) {
        return invalid("channelIDs must be a list of UUIDs");
    }
    for (const auto& item : *channels) {
        const auto channel = uuid_of(item);
        if (!channel) return invalid("channelIDs must be a list of UUIDs");
        client.channels.push_back(core::ChannelId{*channel});
    }
    if (const auto seen = object.find("last_seen"); seen != object.end()) {
        if (!seen->is_number_unsigned()) return invalid("last_seen must be seconds since 1970");
        const auto seconds = seen->get<std::uint64_t>();
        if (seconds > kLastSeenMax) {
            return invalid("last_seen must be seconds since 1970; " + std::to_string(seconds) +
                           " looks like milliseconds");
        }
        client.last_seen = core::Timestamp{std::chrono::seconds{seconds}};
    }
    if (const auto read = read_router(object, client); !read) return core::fail(read.error());
    return client;
}

/// Publishes clients, a bounded number of records at a time.
class Importer {
public:
    explicit Importer(app::Installation& installation)
        : partitions_(installation.control().partitions),
          now_(core::SystemClock{}.wall()),
          publisher_(installation.log().open_publisher(executor_), executor_,
                     &log::check_core_record) {}

    void add(const ImportedClient& client) {
        const auto stamp = client.router_type == core::RouterType::webpush
                               ? std::optional{kImported}
                               : std::nullopt;  // bridged ones fold in the order of the log
        core::ClientRecorded record;
        record.uaid = client.uaid;
        record.router_type = client.router_type;
        record.router_data = client.router_data;
        record.created = record.last_seen = client.last_seen.value_or(now_);
        record.stamp = stamp;
        publish(client.uaid, core::encode(record));
        for (const auto& id : client.channels) {
            core::ChannelRecorded channel;
            channel.uaid = client.uaid;
            channel.channel = id;
            channel.created = record.created;
            channel.stamp = stamp;
            publish(client.uaid, core::encode(channel));
        }
        ++clients_;
        channels_ += client.channels.size();
        wait_below(kUnansweredMax);
    }

    /// Everything is durable. Throws StartupError if something is not.
    void finish() { wait_below(1); }

    std::size_t clients() const { return clients_; }
    std::size_t channels() const { return channels_; }

private:
    void publish(const core::Uaid& uaid, core::Record record) {
        ++unanswered_;
        publisher_.publish({log::Topic::kSubscriptions, core::partition_of(uaid, partitions_)},
                           std::move(record), [this](const core::Result<log::Appended>& appended) {
                               --unanswered_;
                               if (!appended && !failed_) failed_ = appended.error();
                           });
    }

    void wait_below(std::size_t limit) {
        const auto until = core::SystemClock{}.mono() + kAnswerTimeout;
        if (!executor_.wait_until([&] { return failed_ || unanswered_ < limit; }, until)) {
            throw app::StartupError("the log does not answer");
        }
        if (failed_) throw app::StartupError("the log refused a record: " + failed_->message);
    }

    const core::Partition partitions_;
    const core::Timestamp now_;
    log::BlockingExecutor executor_;
    log::CheckedPublisher publisher_;
    std::size_t unanswered_ = 0;
    std::optional<core::Error> failed_;
    std::size_t clients_ = 0;
    std::size_t channels_ = 0;
};

}  // namespace

int subscriptions_import(app::Config config, const std::string& file) {
    std::ifstream opened;
    if (file != "-") {
        opened.open(file);
        if (!opened) throw app::StartupError("cannot read " + file);
    }
    std::istream& in = file == "-" ? std::cin : opened;

    app::Installation installation{config};
    Importer importer{installation};
    std::string line;
    for (std::size_t number = 1; std::getline(in, line); ++number) {
        if (line.empty()) continue;
        const auto client = parse_client(line);
        if (!client) {
            importer.finish();
            throw app::StartupError(file + ":" + std::to_string(number) + ": " +
                                    client.error().message +
                                    "; the lines before it are imported already");
        }
        importer.add(*client);
    }
    importer.finish();
    std::cout << "imported " << importer.clients() << " clients with " << importer.channels()
              << " channels\n";
    return 0;
}

}  // namespace beckon::tools
