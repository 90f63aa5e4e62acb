#include "tools/subscriptions/subscriptions_tool.hpp"

#include "app/command/progress.hpp"
#include "app/exit_codes.hpp"
#include "app/installation/installation.hpp"
#include "core/partition.hpp"
#include "log/blocking_executor.hpp"
#include "log/checked_publisher.hpp"
#include "log/read_partition.hpp"
#include "records/events.hpp"
#include "tools/running/ownership.hpp"
#include "tools/subscriptions/import_plan.hpp"

#include <array>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace beckon::tools {

namespace {

/// Records on their way to the log.
constexpr std::size_t kUnansweredMax = 1'000;
constexpr std::chrono::seconds kAnswerTimeout{60};
/// Clients that are compared with the log at a time: for each so many it is read once.
constexpr std::size_t kClientsMost = 200'000;
constexpr std::size_t kFaultsMost = 20;  ///< lines that are named

struct Count {
    std::size_t clients = 0;
    std::size_t channels = 0;
};

class Importer {
public:
    Importer(app::Installation& installation, const ImportOptions& options, ImportLimits limits,
             app::Progress& progress)
        : installation_(installation),
          options_(options),
          progress_(progress),
          limits_(limits),
          partitions_(installation.control().partitions),
          publisher_(installation.log().open_publisher(executor_), executor_,
                     &log::check_core_record) {}

    /// Compares clients with the log, publishes the records that it lacks, and returns when they
    /// are durable. The lines of the clients are between these bytes of the file.
    void import(const std::vector<ImportedClient>& clients, std::uint64_t from, std::uint64_t to) {
        KnownClients known{clients};
        read_log(known, clients, from);
        std::uint64_t done = 0;
        for (const auto& client : clients) {
            progress_.at(from + (to - from) * done++ / clients.size());
            const auto plan = plan_import(client, known.of(client.uaid), limits_);
            auto& count = counts_[static_cast<std::size_t>(plan.kind)];
            ++count.clients;
            count.channels += plan.channels;
            if (options_.dry_run) continue;
            for (const auto& record : plan.records) publish(client.uaid, record);
        }
        wait_below(1);
    }

    const Count& of(ImportKind kind) const { return counts_[static_cast<std::size_t>(kind)]; }

private:
    void read_log(KnownClients& known, const std::vector<ImportedClient>& clients,
                  std::uint64_t done) {
        std::set<core::Partition> wanted;
        for (const auto& client : clients) {
            wanted.insert(core::partition_of(client.uaid, partitions_));
        }
        core::DecodeScratch scratch;
        for (const auto partition : wanted) {
            const auto sink = [&](const core::RecordView& record) {
                known.fold(core::decode_subscription(record, scratch));
                progress_.at(done);
            };
            app::must(
                log::read_partition(installation_.log(), {log::Topic::kSubscriptions, partition},
                                    sink, kLogReadTimeout),
                "cannot read the log: ");
        }
    }

    void publish(const core::Uaid& uaid, core::Record record) {
        ++unanswered_;
        publisher_.publish({log::Topic::kSubscriptions, core::partition_of(uaid, partitions_)},
                           std::move(record), [this](const core::Result<log::Appended>& appended) {
                               --unanswered_;
                               if (!appended && !failed_) failed_ = appended.error();
                           });
        wait_below(kUnansweredMax);
    }

    void wait_below(std::size_t limit) {
        const auto until = core::SystemClock{}.mono() + kAnswerTimeout;
        if (!executor_.wait_until([&] { return failed_ || unanswered_ < limit; }, until)) {
            throw app::StartupError("the log does not answer");
        }
        if (failed_) throw app::StartupError("the log refused a record: " + failed_->message);
    }

    app::Installation& installation_;
    const ImportOptions& options_;
    app::Progress& progress_;
    const ImportLimits limits_;
    const core::Partition partitions_;
    log::BlockingExecutor executor_;
    log::CheckedPublisher publisher_;
    std::size_t unanswered_ = 0;
    std::optional<core::Error> failed_;
    std::array<Count, kImportKinds> counts_{};
};

void say(const std::string& line) { std::cout << line << std::endl; }

std::string counted(const Count& count) {
    return app::grouped(count.clients) + " clients with " + app::grouped(count.channels) +
           " channels";
}

void report(const Importer& importer, const ImportOptions& options, core::Duration client_ttl,
            std::size_t refused) {
    const auto& again = importer.of(ImportKind::again);
    const auto& completed = importer.of(ImportKind::completed);
    const auto& fresh = importer.of(ImportKind::fresh);
    const Count all{fresh.clients + again.clients + completed.clients,
                    fresh.channels + again.channels + completed.channels};
    say((options.dry_run ? "would import " : "imported ") + counted(all));
    if (again.clients > 0) say("  of these had been removed: " + counted(again));
    if (completed.clients > 0) {
        say("  of these had been there without these channels: " + counted(completed));
    }
    if (const auto same = importer.of(ImportKind::unchanged).clients; same > 0) {
        say("unchanged: " + app::grouped(same) + " clients, which the log has already");
    }
    if (const auto old = importer.of(ImportKind::too_old).clients; old > 0) {
        const auto days = std::chrono::duration_cast<std::chrono::hours>(client_ttl).count() / 24;
        say("too old: " + app::grouped(old) + " clients, not seen for more than " +
            std::to_string(days) +
            " days (edge.client_ttl): their home would remove them within an hour, so they "
            "are left out; --seen-now imports them as seen now");
    }
    if (refused > 0) say("refused: " + app::grouped(refused) + " lines");
}

}  // namespace

int subscriptions_import(const app::Config& config, const ImportOptions& options) {
    const bool piped = options.file == "-";
    std::ifstream opened;
    if (!piped) {
        opened.open(options.file);
        if (!opened) throw app::StartupError("cannot read " + options.file);
    }
    std::istream& in = piped ? std::cin : opened;
    std::error_code unknown_size;
    const auto size = piped ? 0 : std::filesystem::file_size(options.file, unknown_size);

    app::Installation installation{config};
    app::Progress progress{options.dry_run ? "comparing" : "importing", "bytes",
                           unknown_size ? 0 : static_cast<std::uint64_t>(size)};
    Importer importer{installation,
                      options,
                      {.now = core::SystemClock{}.wall(),
                       .client_ttl = config.edge.client_ttl,
                       .seen_now = options.seen_now},
                      progress};
    std::vector<ImportedClient> clients;
    std::size_t refused = 0;
    std::uint64_t bytes = 0;
    std::uint64_t begin = 0;  // of the clients that are not imported yet
    std::string line;
    for (std::size_t number = 1; std::getline(in, line); ++number) {
        bytes += line.size() + 1;
        if (line.empty()) continue;
        auto client = parse_client(line);
        if (!client) {
            if (++refused <= kFaultsMost) {
                std::cerr << options.file << ":" << number << ": " << client.error().message
                          << std::endl;
            }
            continue;
        }
        clients.push_back(std::move(*client));
        if (clients.size() < kClientsMost) continue;
        importer.import(clients, std::exchange(begin, bytes), bytes);
        clients.clear();
    }
    if (!clients.empty()) importer.import(clients, begin, bytes);
    report(importer, options, config.edge.client_ttl, refused);
    return refused > 0 ? app::kFailed : app::kDone;
}

}  // namespace beckon::tools
