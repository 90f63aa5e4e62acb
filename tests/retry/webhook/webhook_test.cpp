#include "retry/webhook/webhook.hpp"

#include "retry/webhook/binary_message.hpp"
#include "retry/webhook/directory.hpp"
#include "retry/webhook/request_builder.hpp"
#include "support/record_view.hpp"
#include "support/turn_watch.hpp"

#include <algorithm>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

using namespace std::chrono_literals;
using namespace beckon;
using namespace beckon::retry;
using Json = nlohmann::json;
using test::ReadBack;

namespace {

std::shared_ptr<const core::KeyRing> a_ring() {
    return std::make_shared<core::KeyRing>(core::KeyRing::generate());
}

Webhook a_webhook(std::string id = "0190aa") {
    Webhook webhook;
    webhook.id = std::move(id);
    webhook.owner = "shop";
    webhook.url = "https://example.org:8443/hook?x=1";
    webhook.types = {"order.*"};
    webhook.filter = R"({"term":{"data.paid":true}})";
    webhook.secrets = {std::string(32, 'n'), std::string(32, 'o')};
    webhook.created = core::Timestamp{1'000ms};
    return webhook;
}

std::vector<std::string> ids_of(const WebhookDirectory& directory, std::string_view owner,
                                std::string_view after = {}) {
    std::vector<std::string> ids;
    directory.each_of(owner, after, [&](const auto& entry) {
        ids.push_back(entry.webhook.id);
        return true;
    });
    return ids;
}

Delivery a_delivery() {
    return {.id = "dlv_1", .webhook = "0190aa", .event = R"({"id":"1"})", .attempts = 2};
}

bool has(const HttpRequest& request, const std::string& start) {
    return std::any_of(request.headers.begin(), request.headers.end(),
                       [&](const std::string& h) { return h.starts_with(start); });
}

}  // namespace

TEST_CASE("a webhook comes back from its record, whose secrets nobody can read",
          "[retry][webhook]") {
    const SecretBox box{a_ring()};
    auto webhook = a_webhook();
    webhook.shared_key = SharedKey{"key-1", "shared secret"};
    webhook.encoding = Encoding::multipart;
    webhook.form_fields = {{"a", "1"}};
    webhook.attachments = {{"x", "data.x"}};
    webhook.mode = ContentMode::binary;
    webhook.headers = {{"Authorization", "Bearer very secret"}};
    webhook.request_origin = "events.example.com";
    const auto record = encode(webhook, box);
    CHECK(*decode_webhook(*ReadBack{record}, box) == webhook);
    CHECK(record.value->find("nnnn") == std::string::npos);
    CHECK(record.value->find("shared secret") == std::string::npos);
    CHECK(record.value->find("Authorization") == std::string::npos);
    CHECK(record.value->find("very secret") == std::string::npos);
}

TEST_CASE("a number of a webhook's record that cannot be one is corrupt", "[retry][webhook]") {
    const SecretBox box{a_ring()};
    auto record = encode(a_webhook(), box);
    for (const auto* name : {"timeout_s", "at_a_time", "created"}) {
        CAPTURE(name);
        auto value = Json::parse(*encode(a_webhook(), box).value);
        REQUIRE(value.contains(name));
        value[name] = 1e300;
        record.value = value.dump();
        const auto read = decode_webhook(*ReadBack{record}, box);
        REQUIRE_FALSE(read);
        CHECK(read.error().fault == core::Fault::corrupt);
    }
}

TEST_CASE("a secret opens for its own webhook and with its own ring only", "[retry][webhook]") {
    const SecretBox box{a_ring()};
    const auto sealed = box.seal("secret", "w1");
    CHECK(*box.open(sealed, "w1") == "secret");
    CHECK(box.open(sealed, "w2").error().fault == core::Fault::unauthorized);
    CHECK(SecretBox{a_ring()}.open(sealed, "w1").error().fault == core::Fault::unauthorized);
    CHECK(box.open("", "w1").error().fault == core::Fault::unauthorized);
    auto bent = sealed;
    bent[10] = bent[10] == 'A' ? 'B' : 'A';
    CHECK_FALSE(box.open(bent, "w1"));
}

TEST_CASE("a key that was rotated away from still opens its secrets", "[retry][webhook]") {
    const auto ring = a_ring();
    const auto sealed = SecretBox{ring}.seal("secret", "w");
    const SecretBox later{std::make_shared<core::KeyRing>(*ring->rotated())};
    CHECK(*later.open(sealed, "w") == "secret");
}

TEST_CASE("an attempt's request is signed with every secret and carries its number",
          "[retry][webhook]") {
    auto webhook = a_webhook();
    webhook.headers = {{"X-Key", "k"}};
    const auto request = build_request(webhook, a_delivery(), core::Timestamp{5'000ms});
    CHECK(has(request, "X-Key: k"));
    CHECK(request.body == R"({"id":"1"})");
    CHECK(has(request, "Content-Type: application/cloudevents+json; charset=utf-8"));
    CHECK(has(request, "Beckon-Attempt: 2"));
    CHECK(has(request, "webhook-id: dlv_1"));
    CHECK(has(request, "webhook-timestamp: 5"));
    CHECK(has(request, "webhook-signature: " +
                           webhook_signature(a_webhook().secrets, "dlv_1", 5s, request.body)));
    CHECK_FALSE(has(request, "Authorization"));
}

TEST_CASE("multipart sends the form fields and then the payload", "[retry][webhook]") {
    auto webhook = a_webhook();
    webhook.encoding = Encoding::multipart;
    webhook.form_fields = {{"token", "t"}};
    webhook.payload_field = "notification";
    const auto request = build_request(webhook, a_delivery(), core::Timestamp{5'000ms});
    CHECK(request.body ==
          "--beckon-dlv_1\r\nContent-Disposition: form-data; name=\"token\"\r\n\r\nt\r\n"
          "--beckon-dlv_1\r\nContent-Disposition: form-data; name=\"notification\"\r\n"
          "Content-Type: application/json\r\n\r\n{\"id\":\"1\"}\r\n--beckon-dlv_1--\r\n");
    CHECK(has(request, "Content-Type: multipart/form-data; boundary=beckon-dlv_1"));
}

TEST_CASE("the boundary of a form stands in none of its parts, and is short", "[retry][webhook]") {
    auto webhook = a_webhook();
    webhook.encoding = Encoding::multipart;
    webhook.form_fields = {{"token", "--beckon-dlv_1"}};
    auto delivery = a_delivery();
    // A longer boundary of dashes would be found again for each of them.
    delivery.event = R"({"id":"beckon-dlv_1)" + std::string(1'000, '-') + R"("})";
    const auto request = build_request(webhook, delivery, {});
    const std::string type = "Content-Type: multipart/form-data; boundary=";
    const auto header = std::find_if(request.headers.begin(), request.headers.end(),
                                     [&](const std::string& one) { return one.starts_with(type); });
    REQUIRE(header != request.headers.end());
    const auto boundary = header->substr(type.size());
    CHECK(boundary.starts_with("beckon-"));
    CHECK(boundary.size() <= 70);  // RFC 2046, 5.1.1
    CHECK(delivery.event.find(boundary) == std::string::npos);
    std::size_t delimiters = 0;
    for (auto at = request.body.find("--" + boundary); at != std::string::npos;
         at = request.body.find("--" + boundary, at + 1)) {
        ++delimiters;
    }
    CHECK(delimiters == 3);
}

TEST_CASE("a request carries the text of the event, signed as it is", "[retry][webhook]") {
    auto delivery = a_delivery();
    delivery.event =
        R"({"specversion":"1.0","id":"1","data":{"n":12345678901234567890123,"n":1e5,"x": [ ]}})";
    auto webhook = a_webhook();
    CHECK(build_request(webhook, delivery, {}).body == delivery.event);
    webhook.attachments = {{"which", "id"}};
    auto with_more = delivery.event;
    with_more.insert(with_more.size() - 1, R"(,"attachments":{"which":"1"})");
    const auto request = build_request(webhook, delivery, core::Timestamp{5'000ms});
    CHECK(request.body == with_more);
    CHECK(has(request, "webhook-signature: " +
                           webhook_signature(webhook.secrets, "dlv_1", 5s, request.body)));
    webhook.encoding = Encoding::multipart;
    CHECK(build_request(webhook, delivery, {}).body.find(R"({"which":"1"})") != std::string::npos);
}

TEST_CASE("in binary mode attributes are headers and the data are the body", "[retry][webhook]") {
    const auto event = [](const std::string& more) {
        return R"({"specversion":"1.0","id":"4 2","source":"/caf\u00e9","type":"t\"%",)" + more +
               "}";
    };
    const auto message = binary_message(event(
        R"("flag":true,"count":-5,"unset":null,"data":{"n":12345678901234567890123, "n":1e5})"));
    REQUIRE(message);
    CHECK(message->content_type == "application/json");
    CHECK(message->headers == std::vector<std::string>{"ce-specversion: 1.0", "ce-id: 4%202",
                                                       "ce-source: /caf%C3%A9", "ce-type: t%22%25",
                                                       "ce-flag: true", "ce-count: -5"});
    CHECK(message->body == R"({"n":12345678901234567890123, "n":1e5})");

    const auto formatted = [&](const std::string& more) {
        const auto one = binary_message(event(more));
        return one ? one->content_type + "|" + one->body : "structured";
    };
    CHECK(formatted(R"("datacontenttype":"text/plain","data":"h\u00e9\n")") ==
          "text/plain|h\xc3\xa9\n");
    CHECK(formatted(R"("datacontenttype":"application/json","data":"text")") ==
          "application/json|\"text\"");
    CHECK(formatted(
              R"("datacontenttype":"text/plain; charset=iso-8859-1","data_base64":"Y2Fm6Q==")") ==
          "text/plain; charset=iso-8859-1|caf\xe9");
    CHECK(formatted(R"("data_base64":"AAE=")") == std::string{"|\0\1", 3});
    CHECK(formatted(R"("data":null)") == "application/json|null");
    CHECK(formatted(R"("subject":"s")") == "|");
    // Events that headers cannot carry.
    CHECK(formatted(R"("datacontenttype":"text/plain; charset=iso-8859-1","data":"\u00e9")") ==
          "structured");
    CHECK(formatted(R"("datacontenttype":"a\r\nb","data":1)") == "structured");
    CHECK(formatted(R"("data_base64":"!")") == "structured");
    CHECK(formatted(R"("data_base64":{})") == "structured");
    CHECK(formatted("\"subject\":\"" + std::string(kBinaryHeaderBytesMax, 'x') + "\"") ==
          "structured");
    CHECK_FALSE(binary_message("[]"));
    CHECK_FALSE(binary_message("no JSON"));
}

TEST_CASE("a request in binary mode is signed over what it sends", "[retry][webhook]") {
    auto webhook = a_webhook();
    webhook.mode = ContentMode::binary;
    webhook.shared_key = SharedKey{"key-1", "shared secret"};
    webhook.headers = {{"X-Key", "k"}};
    auto delivery = a_delivery();
    delivery.event = R"({"specversion":"1.0","id":"1","data":[ 1e5 ]})";
    auto request = build_request(webhook, delivery, core::Timestamp{5'000ms});
    CHECK(has(request, "X-Key: k"));
    CHECK(request.body == "[ 1e5 ]");
    CHECK(has(request, "ce-id: 1"));
    CHECK(has(request, "Content-Type: application/json"));
    CHECK(has(request, "webhook-signature: " +
                           webhook_signature(webhook.secrets, "dlv_1", 5s, request.body)));
    const auto covered = std::find_if(request.headers.begin(), request.headers.end(),
                                      [](const auto& h) { return h.starts_with("Authorization"); });
    REQUIRE(covered != request.headers.end());
    CHECK(covered->find("digest ce-specversion ce-id content-type\"") != std::string::npos);

    delivery.event = R"({"specversion":"1.0","id":"1"})";
    request = build_request(webhook, delivery, {});
    CHECK(request.body.empty());
    CHECK(has(request, "Content-Type:"));
    CHECK_FALSE(has(request, "Content-Type: "));

    delivery.event = R"({"id":"1","datacontenttype":"\u0001","data":1})";
    request = build_request(webhook, delivery, {});
    CHECK(request.body == delivery.event);
    CHECK(has(request, "Content-Type: application/cloudevents+json; charset=utf-8"));
    CHECK_FALSE(has(request, "ce-id"));
}

TEST_CASE("a shared key signs the Host and the target that are sent", "[retry][webhook]") {
    auto webhook = a_webhook();
    webhook.shared_key = SharedKey{"key-1", "shared secret"};
    const auto sign = [&](const std::string& url, const char* host, const char* target) {
        webhook.url = url;
        const auto request = build_request(webhook, a_delivery(), core::Timestamp{5'000ms});
        CHECK(request.target == target);
        CHECK(has(request, "Host: " + std::string{host}));
        const auto headers =
            http_signature(*webhook.shared_key,
                           {.method = "POST", .target = target, .host = host, .body = request.body},
                           core::Timestamp{5'000ms});
        for (const auto& header : headers) CHECK(has(request, header));
    };
    sign("https://example.org:443/hook?x=1", "example.org", "/hook?x=1");
    sign("http://example.org:80/", "example.org", "/");
    sign(
        "https://b\xc3\xbc"
        "cher.example:8443/a",
        "xn--bcher-kva.example:8443", "/a");
}

TEST_CASE("attempts are counted by host and port", "[retry][webhook]") {
    CHECK(host_of("https://Example.org:8443/x") == "Example.org:8443");
    CHECK(host_of("http://example.org/") == "example.org");
    CHECK(host_of("::") == "");
}

TEST_CASE("the directory follows from the records, in any number of readings", "[retry][webhook]") {
    const SecretBox box{a_ring()};
    WebhookDirectory directory{box};
    const JsonTree event{R"({"type":"order.created","data":{"paid":true}})"};
    const auto match = [&] {
        Steps steps;
        return directory.filters().match(event, "shop", {}, steps).ids;
    };
    const auto apply = [&](const core::Record& record) {
        directory.apply(*ReadBack{record});
        directory.apply(*ReadBack{record});
    };
    apply(encode(a_webhook(), box));
    CHECK(match() == std::vector<std::string>{"0190aa"});
    CHECK(directory.count_of("shop") == 1);
    CHECK(ids_of(directory, "shop") == std::vector<std::string>{"0190aa"});
    CHECK(ids_of(directory, "shop", "0190aa").empty());
    CHECK(ids_of(directory, "other").empty());

    apply(encode("0190aa", WebhookState{.enabled = false, .reason = "gone", .failing_since = {}}));
    CHECK(match().empty());
    CHECK(directory.find("0190aa")->state.reason == "gone");
    CHECK(directory.disabled() == 1);
    apply(encode(a_webhook(), box));  // a change leaves it disabled
    CHECK(match().empty());
    CHECK(directory.disabled() == 1);
    apply(
        encode("0190aa", WebhookState{.enabled = false, .reason = std::string{kDisabledByOwner}}));
    CHECK(directory.disabled() == 0);
    apply(encode("0190aa",
                 WebhookState{.enabled = false, .reason = std::string{kDisabledByOperator}}));
    CHECK(directory.disabled() == 0);
    apply(encode("0190aa", WebhookState{.enabled = false, .reason = "failing"}));
    CHECK(directory.disabled() == 1);
    apply(encode("0190aa", WebhookState{}));
    CHECK(directory.disabled() == 0);
    CHECK(match().size() == 1);

    apply(encode_removed("0190aa"));
    apply(encode_state_removed("0190aa"));
    CHECK(directory.find("0190aa") == nullptr);
    CHECK(directory.count_of("shop") == 0);
    CHECK(directory.memory_bytes() == 0);
    CHECK(directory.filters().owners().empty());
}

TEST_CASE("the directory knows the records that are left without a webhook", "[retry][webhook]") {
    const SecretBox box{a_ring()};
    WebhookDirectory directory{box};
    const auto apply = [&](const core::Record& record) { directory.apply(*ReadBack{record}); };
    const auto left = [&] { return directory.without_webhook().contains("0190aa"); };
    const auto disabled = encode("0190aa", WebhookState{.enabled = false, .reason = "gone"});
    apply(disabled);
    CHECK(left());
    apply(encode(a_webhook(), box));  // it comes later in a compacted log
    CHECK_FALSE(left());
    CHECK_FALSE(directory.find("0190aa")->state.enabled);
    apply(encode("0190aa", CostlyFilter{}));
    CHECK_FALSE(left());
    apply(encode_removed("0190aa"));
    CHECK(left());
    apply(encode_state_removed("0190aa"));
    CHECK(left());
    apply(encode_filter_removed("0190aa"));
    CHECK_FALSE(left());
    apply(encode("0190aa", CostlyFilter{}));
    CHECK(left());
    directory.clear();
    CHECK_FALSE(left());
    apply(encode(a_webhook(), box));
    CHECK(directory.find("0190aa")->state.enabled);
    apply(encode_removed("0190aa"));
    CHECK_FALSE(left());
}

TEST_CASE("a record that does not decode is counted and leaves the former webhook",
          "[retry][webhook]") {
    const SecretBox box{a_ring()};
    WebhookDirectory directory{box};
    directory.apply(*ReadBack{encode(a_webhook(), box)});
    auto broken = encode(a_webhook(), box);
    broken.value = "{}";
    directory.apply(*ReadBack{broken});
    directory.apply(*ReadBack{encode(a_webhook(), SecretBox{a_ring()})});
    CHECK(directory.broken() == 2);
    CHECK(directory.find("0190aa") != nullptr);
}

TEST_CASE("the memory of webhooks is counted for each owner and in all",
          "[retry][webhook][bounds]") {
    const SecretBox box{a_ring()};
    WebhookDirectory directory{box};
    const auto put = [&](const std::string& id, const std::string& owner,
                         const std::string& filter) {
        auto webhook = a_webhook(id);
        webhook.owner = owner;
        webhook.filter = filter;
        directory.apply(*ReadBack{encode(webhook, box)});
        const auto known = memory_of(webhook, *filter_entry(webhook, Query::From::owner));
        CHECK(directory.find(id)->memory_bytes == known);
        return known;
    };
    Json terms = Json::array();
    for (int i = 0; i < 256; ++i) terms.push_back(std::to_string(i));
    const auto large = Json{{"terms", {{"data.id", terms}}}}.dump();
    const auto a = put("a", "shop", "");
    const auto b = put("b", "shop", large);
    const auto c = put("c", "other", large);
    CHECK(b > a + 256 * 50);
    CHECK(directory.usage_of("shop") == Usage{.webhooks = 2, .bytes = a + b});
    CHECK(directory.usage_of("other") == Usage{.webhooks = 1, .bytes = c});
    CHECK(directory.memory_bytes() == a + b + c);
    const auto smaller = put("b", "shop", "");
    CHECK(directory.usage_of("shop").bytes == a + smaller);
    directory.apply(*ReadBack{encode_removed("a")});
    CHECK(directory.usage_of("shop") == Usage{.webhooks = 1, .bytes = smaller});
    directory.clear();
    CHECK(directory.memory_bytes() == 0);
    CHECK(directory.usage_of("shop") == Usage{});
}

// They were found among those of all owners.
TEST_CASE("the webhooks of one owner are found however many others have",
          "[retry][webhook][bounds]") {
    constexpr int kOthers = 20'000;
    constexpr int kLists = 2'000;
    const SecretBox box{a_ring()};
    WebhookDirectory directory{box, WebhookDirectory::Filters::compiled};
    auto webhook = a_webhook();
    webhook.secrets.clear();
    webhook.owner = "others";
    for (int i = 0; i < kOthers; ++i) {
        webhook.id = "w" + std::to_string(i);
        directory.apply(*ReadBack{encode(webhook, box)});
    }
    webhook.id = "mine";
    webhook.owner = "few";
    directory.apply(*ReadBack{encode(webhook, box)});
    const test::Turn turn;  // fails where it takes long
    for (int i = 0; i < kLists; ++i) {
        REQUIRE(ids_of(directory, "few").size() == 1);
        REQUIRE(directory.count_of("few") == 1);
    }
}

TEST_CASE("a directory without the texts of filters matches as one that has them",
          "[retry][webhook][bounds]") {
    const SecretBox box{a_ring()};
    WebhookDirectory all{box};
    WebhookDirectory slim{box, WebhookDirectory::Filters::compiled};
    auto webhook = a_webhook("a");
    webhook.filter = R"({"term":{"data.id":"x"}})";
    const auto record = encode(webhook, box);
    for (auto* directory : {&all, &slim}) directory->apply(*ReadBack{record});
    CHECK(all.find("a")->webhook == webhook);
    webhook.filter.clear();
    CHECK(slim.find("a")->webhook == webhook);
    CHECK(slim.find("a")->host == all.find("a")->host);
    CHECK(slim.find("a")->filter_digest == all.find("a")->filter_digest);
    CHECK(slim.memory_bytes() == all.memory_bytes());
    const JsonTree event{R"({"type":"order.created","data":{"id":"x"}})"};
    Steps steps;
    CHECK(slim.filters().match(event, webhook.owner, {}, steps).ids ==
          all.filters().match(event, webhook.owner, {}, steps).ids);
    slim.apply(*ReadBack{encode_removed("a")});
    CHECK(slim.size() == 0);
}

TEST_CASE("a webhook shows that its present filter was too costly", "[retry][webhook]") {
    const SecretBox box{a_ring()};
    const auto webhook = a_webhook();
    const CostlyFilter costly{.filter = filter_digest(webhook.filter),
                              .at = core::Timestamp{5'000ms},
                              .source = "/shop",
                              .event = "e1"};
    CHECK(*decode_costly_filter(*ReadBack{encode(webhook.id, costly)}) == costly);
    WebhookDirectory directory{box};
    const auto apply = [&](const core::Record& record) { directory.apply(*ReadBack{record}); };
    const auto recorded = [&] { return directory.find(webhook.id)->costly; };
    apply(encode(webhook.id, costly));  // compaction may leave it in front of the webhook
    apply(encode(webhook, box));
    CHECK(recorded() == costly);
    auto changed = webhook;
    changed.description = "another";
    apply(encode(changed, box));
    CHECK(recorded() == costly);
    changed.filter = R"({"exists":{"field":"data.paid"}})";
    apply(encode(changed, box));
    CHECK_FALSE(recorded());
    apply(encode(webhook, box));
    CHECK(recorded() == costly);
    apply(encode_filter_removed(webhook.id));
    CHECK_FALSE(recorded());
    auto broken = encode(webhook.id, costly);
    broken.value = "{}";
    apply(broken);
    CHECK(directory.broken() == 1);
}

TEST_CASE("a filter that an earlier version accepted goes on matching", "[retry][webhook]") {
    const SecretBox box{a_ring()};
    WebhookDirectory directory{box};
    auto webhook = a_webhook();
    std::string path = "data.x";
    for (int i = 0; i < 100; ++i) path += ".x";
    webhook.filter = Json{{"bool", {{"must_not", {{"exists", {{"field", path}}}}}}}}.dump();
    CHECK_FALSE(filter_entry(webhook, Query::From::owner));
    directory.apply(*ReadBack{encode(webhook, box)});
    Steps steps;
    CHECK(directory.filters()
              .match(JsonTree{R"({"type":"order.created"})"}, "shop", {}, steps)
              .ids.size() == 1);
}
