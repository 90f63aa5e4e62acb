// Kafka's own cost of the requests that Beckon makes: a program that does nothing else. Run by
// `./dev bench --only sustained`.
//
//   bare_kafka SERVERS TOPIC PARTITIONS RATE SECONDS BROKER_PID
//
// RATE times a second it publishes a record that must be durable, as an endpoint does. It reads the
// partitions, as an edge does, and writes a tombstone for each record, a quarter of a second's at a
// time. One process with two producers and a consumer, and no HTTP, no clients, no state. Prints a
// line of JSON: CPU per message of this process and of the broker, and the times from the publish
// until the record is read.
#include "bench/load/process_stats.hpp"
#include "core/clock.hpp"
#include "log/kafka/handles.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <iostream>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

using namespace beckon;
using namespace log::kafka;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t kRecordBytes = 450;  // a body of 300, and what Beckon keeps with it
constexpr auto kLinger = 250ms;            // how long tombstones wait for others
constexpr auto kWarmUp = 5s;
constexpr int kPollMs = 50;

using Settings = std::vector<std::pair<const char*, std::string>>;

ClientHandle client(rd_kafka_type_t type, const std::string& servers, Settings settings) {
    std::array<char, 512> why{};
    ConfHandle conf{rd_kafka_conf_new()};
    settings.emplace_back("bootstrap.servers", servers);
    for (const auto& [name, value] : settings) {
        if (rd_kafka_conf_set(conf.get(), name, value.c_str(), why.data(), why.size()) !=
            RD_KAFKA_CONF_OK) {
            throw std::runtime_error(why.data());
        }
    }
    ClientHandle made{rd_kafka_new(type, conf.get(), why.data(), why.size())};
    if (!made) throw std::runtime_error(why.data());
    static_cast<void>(conf.release());
    return made;
}

/// With the settings that promise 1 rests on.
ClientHandle producer(const std::string& servers) {
    return client(RD_KAFKA_PRODUCER, servers,
                  {{"enable.idempotence", "true"},
                   {"acks", "all"},
                   {"max.in.flight.requests.per.connection", "1"},
                   {"linger.ms", "0"}});
}

struct Asked {
    std::string servers;
    std::string topic;
    int partitions;
    double rate;
    double seconds;
    pid_t broker;
};

class Bare {
public:
    explicit Bare(Asked asked)
        : asked_(std::move(asked)),
          puts_(producer(asked_.servers)),
          tombstones_(producer(asked_.servers)),
          reader_(client(RD_KAFKA_CONSUMER, asked_.servers,
                         {{"group.id", "bare"},
                          {"enable.auto.commit", "false"},
                          {"fetch.wait.max.ms", "100"}})) {
        const PartitionList all{rd_kafka_topic_partition_list_new(asked_.partitions)};
        for (int p = 0; p < asked_.partitions; ++p) {
            rd_kafka_topic_partition_list_add(all.get(), asked_.topic.c_str(), p)->offset =
                RD_KAFKA_OFFSET_END;
        }
        if (rd_kafka_assign(reader_.get(), all.get())) throw std::runtime_error("no assignment");
    }

    nlohmann::json run() {
        std::jthread reports{
            [this] { until_the_end([&] { rd_kafka_poll(puts_.get(), kPollMs); }); }};
        std::jthread reading{[this] { until_the_end([&] { read(); }); }};
        std::jthread finishing{[this] {
            until_the_end([&] {
                std::this_thread::sleep_for(kLinger);
                finish();
            });
        }};
        publish_for(kWarmUp);
        const auto before = used();
        measures_ = true;
        const auto sent = publish_for(core::Duration{std::int64_t(asked_.seconds * 1e9)});
        const auto after = used();
        over_ = true;
        reading.join();
        const auto each = [&](double from, double to) { return (to - from) * 1e6 / double(sent); };
        std::sort(took_ms_.begin(), took_ms_.end());
        return {{"rate", double(sent) / asked_.seconds},
                {"clients_us", each(before.first, after.first)},
                {"broker_us", each(before.second, after.second)},
                {"p50_ms", percentile(0.5)},
                {"p99_ms", percentile(0.99)},
                {"p999_ms", percentile(0.999)}};
    }

private:
    template <class Task>
    void until_the_end(Task task) {
        while (!over_) task();
    }

    /// CPU seconds of this process and of the broker.
    std::pair<double, double> used() const {
        const auto broker = bench::sample_process(asked_.broker);
        if (!broker) throw std::runtime_error(broker.error().message);
        return {bench::own_cpu_s(), broker->cpu_s};
    }

    std::uint64_t publish_for(core::Duration span) {
        const auto began = clock_.mono();
        std::string value(kRecordBytes, 'x');
        std::uint64_t sent = 0;
        for (auto now = began; now < began + span; now = clock_.mono()) {
            const double seconds = std::chrono::duration<double>(now - began).count();
            for (; double(sent) < seconds * asked_.rate; ++sent) {
                const std::int64_t at = clock_.mono().time_since_epoch().count();
                std::memcpy(value.data(), &at, sizeof at);
                const auto key = "message " + std::to_string(number_++);
                put(puts_, int(number_ % std::uint64_t(asked_.partitions)), key, &value);
            }
            std::this_thread::sleep_for(500us);
        }
        return sent;
    }

    void put(const ClientHandle& to, int partition, const std::string& key,
             const std::string* value) const {
        const auto failed = rd_kafka_producev(
            to.get(), RD_KAFKA_V_TOPIC(asked_.topic.c_str()), RD_KAFKA_V_PARTITION(partition),
            RD_KAFKA_V_KEY(key.data(), key.size()),
            RD_KAFKA_V_VALUE(const_cast<char*>(value ? value->data() : nullptr),
                             value ? value->size() : 0),
            RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_END);
        if (failed) throw std::runtime_error(rd_kafka_err2str(failed));
    }

    void read() {
        const MessageHandle message{rd_kafka_consumer_poll(reader_.get(), kPollMs)};
        if (!message || message->err || !message->payload) return;
        std::int64_t at = 0;
        std::memcpy(&at, message->payload, sizeof at);
        const auto took = clock_.mono().time_since_epoch().count() - at;
        if (measures_) took_ms_.push_back(double(took) / 1e6);
        const std::scoped_lock lock{mutex_};
        finished_.emplace_back(
            message->partition,
            std::string(static_cast<const char*>(message->key), message->key_len));
    }

    void finish() {
        std::vector<std::pair<int, std::string>> finished;
        {
            const std::scoped_lock lock{mutex_};
            finished.swap(finished_);
        }
        for (const auto& [partition, key] : finished) put(tombstones_, partition, key, nullptr);
        rd_kafka_poll(tombstones_.get(), 0);
    }

    double percentile(double share) const {
        if (took_ms_.empty()) throw std::runtime_error("nothing was read");
        return took_ms_[std::size_t(share * double(took_ms_.size() - 1))];
    }

    const Asked asked_;
    const core::SystemClock clock_;
    ClientHandle puts_;
    ClientHandle tombstones_;
    ClientHandle reader_;
    std::uint64_t number_ = 0;
    std::atomic<bool> measures_ = false;
    std::atomic<bool> over_ = false;
    std::vector<double> took_ms_;  ///< of the reading thread until it has ended
    std::mutex mutex_;
    std::vector<std::pair<int, std::string>> finished_;  ///< under mutex_
};

}  // namespace

int main(int argc, char** argv) {
    try {
        if (argc != 7) {
            throw std::runtime_error("usage: SERVERS TOPIC PARTITIONS RATE SECONDS BROKER_PID");
        }
        Bare bare{{.servers = argv[1],
                   .topic = argv[2],
                   .partitions = std::stoi(argv[3]),
                   .rate = std::stod(argv[4]),
                   .seconds = std::stod(argv[5]),
                   .broker = std::stoi(argv[6])}};
        std::cout << bare.run() << "\n";
        return 0;
    } catch (const std::exception& error) {
        std::cerr << "bare_kafka: " << error.what() << "\n";
        return 1;
    }
}
