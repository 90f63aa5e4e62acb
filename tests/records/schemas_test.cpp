// Holds what encode() writes against the files in schemas/.
#include "bridge/message.hpp"
#include "core/base64url.hpp"
#include "core/schema_subset.hpp"
#include "log/control.hpp"
#include "records/broadcast.hpp"
#include "records/client_gone.hpp"
#include "records/dead_letter.hpp"
#include "records/delivery.hpp"
#include "records/done.hpp"
#include "records/edge_lag.hpp"
#include "records/events.hpp"
#include "records/ownership.hpp"
#include "records/process.hpp"
#include "records/random_events.hpp"
#include "records/receipt.hpp"
#include "records/sender_rule.hpp"
#include "records/subscription_gone.hpp"
#include "reliability/history/milestone_codec.hpp"
#include "reliability/totals/totals.hpp"
#include "retry/event/event.hpp"
#include "retry/webhook/webhook.hpp"
#include "retry/webhook/webhooks_changed.hpp"
#include "support/memory_log.hpp"

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

using namespace beckon;
using Json = nlohmann::json;
namespace fs = std::filesystem;

namespace {

const fs::path kSchemas{BECKON_SCHEMAS};
const std::string kControlType = "beckon.control.v1";

std::string read(const fs::path& file) {
    std::ifstream in{file};
    REQUIRE(in);
    return {std::istreambuf_iterator<char>{in}, {}};
}

/// All schema files by event type.
std::map<std::string, Json> load_schemas() {
    std::map<std::string, Json> schemas;
    for (const auto& entry : fs::directory_iterator{kSchemas}) {
        if (entry.path().extension() != ".json") continue;
        const auto name = "beckon." + entry.path().stem().string();
        CAPTURE(name);
        schemas[name] = Json::parse(read(entry.path()));
    }
    return schemas;
}

std::string header_of(const core::Record& record, std::string_view name) {
    for (const auto& h : record.headers) {
        if (h.name == name) return h.value;
    }
    return {};
}

/// Records of `control` have no headers: their key is their type.
std::string type_of(const core::Record& record) {
    const auto type = header_of(record, core::header::kType);
    return type.empty() && record.headers.empty() ? kControlType : type;
}

/// A record as the schemas describe it: raw bytes in base64url, JSON values as JSON.
Json document(const core::Record& record) {
    Json headers = Json::object();
    for (const auto& h : record.headers) {
        REQUIRE_FALSE(headers.contains(std::string{h.name}));
        headers[std::string{h.name}] = h.value;
    }
    Json value;
    if (record.value) {
        const bool json = type_of(record) == kControlType ||
                          header_of(record, core::header::kContentType) == "application/json";
        value = json ? Json::parse(*record.value) : Json(core::base64url(*record.value));
    }
    return {{"key", record.key}, {"headers", std::move(headers)}, {"value", std::move(value)}};
}

std::optional<std::string> fault_of(const std::map<std::string, Json>& schemas,
                                    const core::Record& record) {
    const auto type = type_of(record);
    const auto schema = schemas.find(type);
    if (schema == schemas.end()) return "no schema for the type " + type;
    return test::schema_fault(schema->second, document(record));
}

/// The records that write_control() publishes.
std::vector<core::Record> control_records() {
    const core::SystemClock clock;
    const auto log = log::make_memory_log({.clock = &clock});
    const log::Control control{.log_id = "0f1e2d3c",
                               .created = "2026-11-20T00:00:00Z",
                               .partitions = 16,
                               .tiers = {std::chrono::seconds{0}, std::chrono::seconds{5}},
                               .keyring_fingerprint = "0123456789abcdef",
                               .origins = {"https://push.example.org"},
                               .cluster = "kafka-1"};
    REQUIRE(log::write_control(*log, control, std::nullopt, std::chrono::seconds{20}));
    std::vector<core::Record> records;
    for (const auto& stored : log->records({log::Topic::kControl, 0})) {
        records.push_back(stored.record);
    }
    REQUIRE(records.size() == 5);
    core::BlockedSender sender{.kind = core::SenderKind::owner, .name = "shop", .why = "spam"};
    records.push_back(core::encode(sender));
    sender.blocked = false;
    records.push_back(core::encode(sender));
    sender = {.kind = core::SenderKind::subscription,
              .name = core::subscription_name(core::Uaid{}, core::ChannelId{})};
    records.push_back(core::encode(sender));
    records.push_back(
        core::encode(core::SenderLimit{.kind = core::SenderKind::vapid, .per_second = 10}));
    return records;
}

core::Record milestones_of(test::RandomEvents& make) {
    reliability::MilestonesReached event{.id = core::base64url(make.bytes(1 + make.below(90))),
                                         .expires = {},
                                         .source = "0123456789abcdef",
                                         .reached = {}};
    for (std::size_t i = 0; i <= make.below(4); ++i) {
        event.reached.push_back({core::kAllMilestones[make.below(core::kMilestones)],
                                 core::Timestamp{std::chrono::milliseconds{make.below(1U << 31)}}});
    }
    return reliability::encode(event);
}

reliability::History history_of(test::RandomEvents& make) {
    const auto time = [&] {
        return core::Timestamp{std::chrono::milliseconds{make.below(1U << 31)}};
    };
    reliability::History history{time(), time()};
    for (std::size_t i = 0; i <= make.below(6); ++i) {
        const reliability::Reached reached{core::kAllMilestones[make.below(core::kMilestones)],
                                           time()};
        history.add(reached, time(), time());
    }
    return history;
}

core::Record counts_of(test::RandomEvents& make) {
    reliability::Totals totals;
    for (std::size_t i = 0; i < make.below(6); ++i) totals.changed(std::nullopt, history_of(make));
    totals.count_refused({core::Milestone::accepted, core::Milestone::retrieved});
    return reliability::encode(reliability::PartitionCounts{
        .partition = static_cast<core::Partition>(make.below(65'536)),
        .at = core::Timestamp{std::chrono::milliseconds{make.below(1U << 31)}},
        .counts = totals.counts({}),
        .flow = totals.flow({}),
        .refused = totals.tally().refused});
}

core::Record process_of(test::RandomEvents& make) {
    cluster::ProcessRecord process;
    process.role = "edge";
    process.id = "0123456789abcdef";
    process.removed = make.coin();
    process.name = "edge-1:8080";
    process.version = "0.1.0";
    process.ready = make.coin();
    if (make.coin()) process.faults = {"edge: restoring"};
    for (std::size_t i = 0; i < make.below(4); ++i) process.counters[std::to_string(i)] = 0.5;
    process.gauges = {{"clients", 3}};
    if (make.coin()) {
        process.refused = {{.endpoint = cluster::refused_name("token"),
                            .status = 401,
                            .problem = "unauthorized",
                            .message = "The request is not authorized."}};
    }
    if (make.coin()) process.view = {0, 17};
    return cluster::encode(process);
}

core::Record lag_of(test::RandomEvents& make) {
    cluster::EdgeLagRecord lag{.node = {"0123456789abcdef"}};
    lag.lag = std::chrono::milliseconds{make.below(100'000)};
    if (make.coin()) lag.partitions = {0, 11};
    return cluster::encode(lag);
}

core::Record report_of(test::RandomEvents& make) {
    reliability::Report report;
    for (std::size_t i = 0; i < make.below(4); ++i) report.add(history_of(make));
    return reliability::encode(
        reliability::PartitionReport{.day = reliability::Day{std::chrono::days{make.below(30'000)}},
                                     .partition = 3,
                                     .report = report});
}

core::ReceiptOutcome some_outcome(test::RandomEvents& make) {
    core::ReceiptOutcome reported{.to = {.id = {core::random_uuid4()}, .sender = std::nullopt},
                                  .message_id = core::base64url(make.bytes(49)),
                                  .reason = make.finished().reason};
    if (make.coin()) reported.to.sender = core::SenderId{core::random_uuid4()};
    return reported;
}

core::SubscriptionGone gone_of(test::RandomEvents& make) {
    return {
        .uaid = make.client().uaid,
        .channel = {core::random_uuid4()},
        .owner = core::owner_name(core::SenderId{core::random_uuid4()}),
        .endpoint = "https://push.example.org/wpush/x",
        .reason = make.coin() ? core::GoneReason::unregistered : core::GoneReason::answered_410};
}

std::string hex32(test::RandomEvents& make) { return core::to_hex(make.client().uaid); }

retry::Webhook webhook_of(test::RandomEvents& make) {
    retry::Webhook webhook;
    webhook.id = hex32(make);
    webhook.owner = "shop";
    webhook.url = "https://example.org/hook";
    webhook.encoding = make.coin() ? retry::Encoding::json : retry::Encoding::multipart;
    if (make.coin()) webhook.headers = {{"X-Key", "k"}};
    if (make.coin()) webhook.mode = retry::ContentMode::binary;
    webhook.form_fields = {{"a", "1"}};
    if (make.coin()) webhook.types = {"order.*"};
    if (make.coin()) webhook.filter = R"({"exists": {"field": "data.id"}})";
    if (make.coin()) webhook.attachments = {{"id", "data.id"}};
    if (make.coin()) webhook.shared_key = retry::SharedKey{"key-1", "a shared secret"};
    if (make.coin()) webhook.description = "for people";
    if (make.coin()) webhook.request_origin = "events.example.com";
    webhook.secrets = {make.bytes(32)};
    return webhook;
}

retry::WebhookState webhook_state_of(test::RandomEvents& make) {
    const core::Timestamp at{std::chrono::milliseconds{make.below(1U << 31)}};
    if (make.coin()) return {.enabled = true, .reason = "", .enabled_at = at};
    return {.enabled = false, .reason = "failing", .failing_since = at};
}

retry::Delivery delivery_of(test::RandomEvents& make) {
    const std::string event =
        R"({"data":1,"id":"e1","source":"/shop","specversion":"1.0","type":"order.created"})";
    const auto webhook = hex32(make);
    const core::Timestamp at{std::chrono::milliseconds{make.below(1U << 31)}};
    retry::Delivery delivery{.id = retry::delivery_id("/shop", "e1", webhook),
                             .webhook = webhook,
                             .event = event,
                             .hop = static_cast<std::uint32_t>(make.below(3)),
                             .attempts = 2,
                             .step = 1,
                             .accepted = at};
    if (make.coin()) {
        delivery.event.clear();
        delivery.place = {.partition = 3,
                          .offset = 7,
                          .name = retry::event_name("/shop", "e1"),
                          .bytes = 2'000,
                          .type = "order.created"};
    }
    if (make.coin()) delivery.last = retry::Outcome::timed_out;
    for (std::size_t i = 0; i < make.below(3); ++i) {
        delivery.history.push_back({.at = at, .why = retry::Outcome::gone, .attempts = 7});
    }
    return delivery;
}

core::Record done_of(test::RandomEvents& make) {
    retry::DoneRecord done{.partition = static_cast<core::Partition>(make.below(65'536)),
                           .epoch = make.below(100),
                           .delays = {std::chrono::seconds{0}, std::chrono::seconds{5}},
                           .tiers = {},
                           .dead_scan = 3,
                           .events_next = 9};
    done.tiers[0] = {.finished = {.low = 40, .above = {{41, 43}}}, .scan = 33};
    return retry::encode(done);
}

std::vector<core::Record> retry_records_of(test::RandomEvents& make) {
    const retry::SecretBox box{std::make_shared<core::KeyRing>(core::KeyRing::generate())};
    const auto delivery = delivery_of(make);
    return {
        retry::encode(*retry::parse_structured(
            R"({"id":"e1","source":"/shop","specversion":"1.0","type":"order.created"})")),
        retry::encode(webhook_of(make), box),
        retry::encode_removed(delivery.webhook),
        retry::encode(delivery.webhook, webhook_state_of(make)),
        retry::encode_state_removed(delivery.webhook),
        retry::encode(delivery.webhook, retry::CostlyFilter{.filter = retry::filter_digest("{}"),
                                                            .at = delivery.accepted,
                                                            .source = "/shop",
                                                            .event = "e1"}),
        retry::encode_filter_removed(delivery.webhook),
        retry::encode(retry::WebhooksChanged{.below = {{0, 7}, {11, 1}}}, "0123456789abcdef"),
        retry::encode(delivery),
        retry::encode_dead(delivery),
        retry::encode_dead(retry::unreadable(
            "retry.0", 3, {.offset = 7, .time = {}, .key = "\xff", .value = "\xff{", .headers = {}},
            {core::Fault::corrupt, "no delivery"})),
        retry::encode(retry::Settled{.delivery = delivery.id,
                                     .webhook = delivery.webhook,
                                     .hop = delivery.hop,
                                     .how = retry::Settlement::dropped}),
        done_of(make),
        bridge::encode(bridge::bridged_message(
            make.accepted(), {.type = core::RouterType::fcm, .app = "app", .token = "token"}))};
}

std::vector<core::Record> records_of(unsigned seed) {
    test::RandomEvents make{seed};
    const core::NodeId node{"0123456789abcdef"};
    auto with_receipt = core::encode(make.accepted());
    with_receipt.headers.push_back({core::kReceiptHeader, core::to_text(some_outcome(make).to)});
    auto all = retry_records_of(make);
    const std::vector<core::Record> others{
        core::encode(make.accepted()),
        with_receipt,
        core::encode(make.finished()),
        core::encode(make.client()),
        core::encode(make.client_removed()),
        core::encode(make.channel()),
        core::encode(make.channel_removed()),
        core::encode(make.barrier()),
        core::encode(make.lease()),
        core::encode(core::ClientGone{make.client().uaid, core::hash_of_token("a token")}),
        edge::encode(edge::BroadcastSet{
            "remote-settings/monitor_changes",
            make.coin() ? std::optional<std::string>{"\"1619040505000\""} : std::nullopt}),
        core::encode(some_outcome(make)),
        core::encode(core::event_of(gone_of(make))),
        milestones_of(make),
        counts_of(make),
        report_of(make),
        reliability::encode(reliability::ReportRemoved{}),
        process_of(make),
        lag_of(make),
        cluster::encode(cluster::ControllerClaim{"edge", seed, node, make.coin()}),
        cluster::encode(cluster::PlacementRecord{
            "edge", 3, node, {node, node}, seed, make.coin() ? "0123456789abcdef" : ""}),
        cluster::encode(cluster::EpochRecord{"retry", 65'534, seed, node}),
        cluster::encode(cluster::NodeRecord{.role = "edge",
                                            .node = node,
                                            .link_url = "ws://10.0.0.1:8081/",
                                            .ready = {0, 7},
                                            .removed = make.coin(),
                                            .name = make.coin() ? "0123456789abcdef" : "",
                                            .zone = make.coin() ? "east" : "",
                                            .capacity = make.coin() ? 1U : 2U})};
    all.insert(all.end(), others.begin(), others.end());
    return all;
}

using Visit = std::function<void(const std::string&, const Json&)>;

/// Visits the schema of each member, at any depth.
void each_member(const Json& schema, const std::string& at, const Visit& visit) {
    const auto properties = schema.find("properties");
    if (properties != schema.end()) {
        for (const auto& [name, member] : properties->items()) {
            visit(at + "." + name, member);
            each_member(member, at + "." + name, visit);
        }
    }
    const auto choices = schema.find("oneOf");
    if (choices != schema.end()) {
        for (const auto& choice : *choices) each_member(choice, at, visit);
    }
    const auto items = schema.find("items");
    if (items != schema.end()) each_member(*items, at + "[]", visit);
}

/// A record of tests/golden, which an earlier build wrote.
struct GoldenRecord {
    explicit GoldenRecord(Json shown) : line(std::move(shown)) {
        key = line.at("key");
        if (!line.at("bytes").is_null()) {
            value = core::parse_base64url(line.at("value").get<std::string>()).value();
        }
        for (const auto& [name, text] : line.at("headers").items()) {
            headers.push_back({name, text.get_ref<const std::string&>()});
        }
    }
    core::RecordView view() const {
        core::RecordView seen;
        seen.key = key;
        if (value) seen.value = *value;
        seen.headers = headers;
        return seen;
    }
    core::Record record() const {
        core::Record copy{.key = key, .value = value, .headers = {}};
        for (const auto& h : headers) copy.headers.push_back({h.name, std::string{h.value}});
        return copy;
    }

    Json line;
    std::string key;
    std::optional<std::string> value;
    std::vector<core::HeaderView> headers;  ///< views into `line`
};

/// Calls `visit` with each record of a log topic ("": of all) that tests/golden has; their number.
std::size_t each_golden(const std::string& topic, const std::function<void(GoldenRecord&)>& visit) {
    std::size_t count = 0;
    for (const auto& file : fs::recursive_directory_iterator{kSchemas / "../tests/golden"}) {
        if (file.path().extension() != ".jsonl") continue;
        if (!topic.empty() && file.path().stem() != topic) continue;
        CAPTURE(file.path().string());
        std::istringstream lines{read(file.path())};
        for (std::string line; std::getline(lines, line); ++count) {
            CAPTURE(line);
            GoldenRecord record(Json::parse(line));
            visit(record);
        }
    }
    return count;
}

/// What encode() makes of a decoded event.
struct Encoded {
    core::Record operator()(const core::Unknown& unknown) const {
        FAIL(unknown.why);
        return {};
    }
    template <class Event>
    core::Record operator()(const Event& event) const {
        return core::encode(event);
    }
};

}  // namespace

TEST_CASE("records that earlier builds wrote fit the schemas of today") {
    const auto schemas = load_schemas();
    CHECK(each_golden("", [&](GoldenRecord& golden) {
              CHECK(fault_of(schemas, golden.record()).value_or("fits") == "fits");
          }) > 0);
}

TEST_CASE("records that earlier builds wrote are read, and written alike") {
    core::DecodeScratch scratch;
    const auto without_receipt = [](const GoldenRecord& golden) {  // which stands beside the event
        auto shown = document(golden.record());
        shown["headers"].erase(std::string{core::kReceiptHeader});
        return shown;
    };
    CHECK(each_golden("notifications", [&](GoldenRecord& golden) {
              const auto event = core::decode_notification(golden.view(), scratch);
              CHECK(document(std::visit(Encoded{}, event)) == without_receipt(golden));
          }) > 0);
    CHECK(each_golden("subscriptions", [&](GoldenRecord& golden) {
              const auto event = core::decode_subscription(golden.view(), scratch);
              CHECK(document(std::visit(Encoded{}, event)) == document(golden.record()));
          }) > 0);
    CHECK(each_golden("retry.1", [&](GoldenRecord& golden) {
              const auto delivery = retry::decode_delivery(golden.view());
              if (type_of(golden.record()) != "beckon.delivery.v1") return;
              REQUIRE(delivery);
              CHECK(document(retry::encode(*delivery)) == document(golden.record()));
          }) > 0);
}

TEST_CASE("every record that is written fits its schema") {
    const auto schemas = load_schemas();
    std::set<std::string> written;
    for (unsigned seed = 0; seed < 200; ++seed) {
        for (const auto& record : records_of(seed)) {
            CAPTURE(seed, document(record).dump());
            REQUIRE(fault_of(schemas, record).value_or("fits") == "fits");
            written.insert(type_of(record));
        }
    }
    for (const auto& record : control_records()) {
        CAPTURE(document(record).dump());
        REQUIRE(fault_of(schemas, record).value_or("fits") == "fits");
        written.insert(type_of(record));
    }
    for (const auto& [type, schema] : schemas) {
        CAPTURE(type);
        CHECK(written.count(type) == 1);  // no schema goes untested
    }
}

TEST_CASE("Beckon's own events fit their schema") {
    const auto schema = load_schemas().at("beckon.event.v1").at("$defs");
    for (unsigned seed = 0; seed < 50; ++seed) {
        test::RandomEvents make{seed};
        const auto data_of = [](const core::OwnEvent& event) { return Json(event.data); };
        const auto reported = data_of(core::event_of(some_outcome(make)));
        const auto gone = data_of(core::event_of(gone_of(make)));
        const auto disabled = data_of(
            retry::disabled_event(webhook_of(make), {.enabled = false, .reason = "failing"}));
        const auto fault = [&](const char* form, const Json& data) {
            return test::schema_fault(schema.at(form), data).value_or("fits");
        };
        CAPTURE(reported.dump(), gone.dump(), disabled.dump());
        CHECK(fault("message", reported) == "fits");
        CHECK(fault("subscriptionGone", gone) == "fits");
        CHECK(fault("webhookDisabled", disabled) == "fits");
        CHECK(fault("message", gone) != "fits");
    }
}

TEST_CASE("a record that lacks something or says more does not fit") {
    const auto schemas = load_schemas();
    for (const auto& record : records_of(1)) {
        CAPTURE(document(record).dump());
        auto more = record;
        more.headers.push_back({"ce_time", "2026-11-20T00:00:00Z"});
        CHECK(fault_of(schemas, more));
        auto other_key = record;
        other_key.key.insert(0, " ");
        // An event's id is the application's own, and may be any text.
        CHECK((fault_of(schemas, other_key) || type_of(record) == "beckon.event.v1"));
        for (const auto& h : record.headers) {
            if (h.name != core::header::kType) continue;
            auto unknown = record;
            std::erase(unknown.headers, h);
            CHECK(fault_of(schemas, unknown));
        }
    }
    test::RandomEvents make{1};
    auto accepted = core::encode(make.accepted());
    accepted.value = std::nullopt;  // empty is not null
    CHECK(fault_of(schemas, accepted));
    auto finished = core::encode(make.finished());
    finished.value = "";
    CHECK(fault_of(schemas, finished));
}

TEST_CASE("a value with a wrong, missing or unknown member does not fit") {
    const auto schemas = load_schemas();
    test::RandomEvents make{3};
    const auto good = document(core::encode(make.client()));
    const auto& schema = schemas.at("beckon.client.v1");
    REQUIRE(test::schema_fault(schema, good).value_or("fits") == "fits");
    const auto fault = [&](const char* member, const Json& value) {
        auto bad = good;
        bad["value"][member] = value;
        return test::schema_fault(schema, bad).has_value();
    };
    CHECK(fault("created", -1));
    CHECK(fault("created", "1"));
    CHECK(fault("router_type", "gcm"));
    CHECK(fault("more", 1));
    auto lacking = good;
    lacking["value"].erase("last_seen");
    CHECK(test::schema_fault(schema, lacking));

    const auto& node_schema = schemas.at("beckon.node.v1");
    auto node =
        document(cluster::encode(cluster::NodeRecord{.role = "edge",
                                                     .node = core::NodeId{"0123456789abcdef"},
                                                     .link_url = "",
                                                     .ready = {},
                                                     .capacity = cluster::kCapacityMax}));
    CHECK(test::schema_fault(node_schema, node).value_or("fits") == "fits");
    node["value"]["capacity"] = cluster::kCapacityMax + 1;
    CHECK(test::schema_fault(node_schema, node));
}

TEST_CASE("each schema names its type, version and log topics, and explains every member") {
    for (const auto& [type, schema] : load_schemas()) {
        CAPTURE(type);
        CHECK(schema.at("title") == type);
        const auto& event = schema.at("x-event");
        CHECK(event.at("type") == type);
        CHECK(type.ends_with(".v" + std::to_string(event.at("version").get<int>())));
        CHECK_FALSE(event.at("log_topics").empty());
        const auto& headers = schema.at("properties").at("headers").at("properties");
        const auto reserved = event.value("reserved_headers", Json::object());
        for (const auto& header : reserved.items()) {
            CHECK_FALSE(headers.contains(header.key()));  // reserved until it is written
        }
        if (type == kControlType) {
            CHECK(headers.empty());
        } else {
            CHECK(headers.at("ce_type").at("const") == type);
        }
        each_member(schema, "$", [](const std::string& at, const Json& member) {
            CAPTURE(at);
            CHECK((member.contains("description") || member.contains("oneOf")));
        });
    }
}

TEST_CASE("asyncapi.yaml has every type in its log topics, and no reference leads nowhere") {
    const auto text = read(kSchemas / "asyncapi.yaml");
    const auto readme = read(kSchemas / "README.md");
    const auto schemas = load_schemas();
    std::set<std::string> referenced;
    const std::regex reference{R"(\$ref: '\./([a-z0-9.]+\.json)#([^']*)')"};
    for (std::sregex_iterator at{text.begin(), text.end(), reference}, end; at != end; ++at) {
        CAPTURE(at->str());
        const auto file = Json::parse(read(kSchemas / (*at)[1].str()));
        CHECK(file.contains(Json::json_pointer{(*at)[2].str()}));
        referenced.insert(at->str());
    }
    for (const auto& [type, schema] : schemas) {
        CAPTURE(type);
        const auto file = type.substr(std::string{"beckon."}.size()) + ".json";
        CHECK(text.find("name: " + type + "\n") != std::string::npos);
        for (const auto* part : {"headers", "value", "key"}) {
            CAPTURE(file, part);
            CHECK(referenced.count("$ref: './" + file + "#/properties/" + part + "'") == 1);
        }
        for (const auto& topic : schema.at("x-event").at("log_topics")) {
            const auto name = topic.get<std::string>();
            CAPTURE(name);
            CHECK(text.find("address: '{prefix}" + name + "'") != std::string::npos);
        }
        CHECK(readme.find("(" + file + ")") != std::string::npos);
    }
    const std::regex local{R"(\$ref: '#/components/messages/([A-Za-z]+)')"};
    for (std::sregex_iterator at{text.begin(), text.end(), local}, end; at != end; ++at) {
        CAPTURE(at->str());
        CHECK(text.find("\n    " + (*at)[1].str() + ":\n      name: ") != std::string::npos);
    }
}
