#pragma once

#include "app/installation/installation.hpp"
#include "core/clock.hpp"
#include "core/key_ring.hpp"
#include "core/partition.hpp"
#include "log/read_partition.hpp"
#include "support/temp_dir.hpp"
#include "tools/keys/keys_tool.hpp"

#include <functional>
#include <iostream>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch.hpp>

namespace beckon::test {

/// Keeps the output of the tools, which is for a person, off the terminal.
class Quiet {
public:
    Quiet()
        : before_(std::cout.rdbuf(output_.rdbuf())),
          errors_before_(std::cerr.rdbuf(errors_.rdbuf())) {}
    ~Quiet() {
        std::cout.rdbuf(before_);
        std::cerr.rdbuf(errors_before_);
    }
    std::string output() const { return output_.str(); }
    std::string errors() const { return errors_.str(); }

private:
    std::ostringstream output_;
    std::ostringstream errors_;
    std::streambuf* before_;
    std::streambuf* errors_before_;
};

/// A data directory with a key ring and a log, as a first start leaves it.
struct NewInstallation {
    NewInstallation() {
        config.data = dir.path();
        config.layout.partitions = 4;
        tools::keys_generate(config, false);
        config.embedded.directory = config.data / "log";
        config.embedded.clock = &clock;
        config.embedded.partitions = 4;
        const auto log = log::open_embedded_log(config.embedded);
        const auto written = log::write_control(*log,
                                                {.log_id = "a",
                                                 .created = "b",
                                                 .partitions = 4,
                                                 .tiers = {},
                                                 .keyring_fingerprint = {}},
                                                std::nullopt, std::chrono::seconds{10});
        REQUIRE(written);
    }

    core::KeyRing ring() const { return *core::KeyRing::load(config.key_ring_file()); }

    /// Everything in the client's partition of `subscriptions`.
    std::vector<core::Record> subscriptions_of(const core::Uaid& uaid) {
        app::Installation installation{config};
        std::vector<core::Record> found;
        const auto read = log::read_partition(
            installation.log(), {log::Topic::kSubscriptions, core::partition_of(uaid, 4)},
            [&](const core::RecordView& view) {
                auto& record = found.emplace_back();
                record.key = view.key;
                record.value = std::string{view.value.value_or("")};
                for (const auto& h : view.headers) {
                    record.headers.push_back({lasting(h.name), std::string{h.value}});
                }
            },
            std::chrono::seconds{10});
        REQUIRE(read);
        return found;
    }

    TempDir dir;
    core::SystemClock clock;
    app::Config config;
    Quiet quiet;

private:
    /// The name of a header in a Record lasts as long as the process.
    static std::string_view lasting(std::string_view name) {
        static std::set<std::string, std::less<>> names;
        return *names.emplace(name).first;
    }
};

}  // namespace beckon::test
