#include "core/tokens.hpp"
#include "ingest/ingest_world.hpp"
#include "ingest/receipts/receipt_polls.hpp"
#include "ingest/receipts/receipt_replies.hpp"
#include "records/receipt.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

using namespace std::chrono_literals;
using namespace beckon;
using Json = nlohmann::json;
using test::HttpReply;
using test::TestRequest;

namespace {

struct World : test::IngestWorld {
    World() { shared_->receipts = &polls; }

    /// Says whether an owner may have a webhook for the end of its subscriptions.
    void gone_wanted(std::function<bool(std::string_view)> wanted) {
        shared_->gone_wanted = std::move(wanted);
    }

    /// The URL of a reply's receipt subscription, as a path.
    static std::string path_in(const HttpReply& reply) {
        const auto link = std::string{reply.header("Link").value_or("")};
        const auto begin = link.find("/r/");
        return link.substr(begin, link.find('>') - begin);
    }
    core::ReceiptRef receipt_of(const std::string& path) {
        return core::Tokens{keys_}.open_receipt(path.substr(3)).value();
    }
    void publish_outcome(const std::string& path, const std::string& message,
                         core::FinishReason reason = core::FinishReason::acked) {
        const auto receipt = receipt_of(path);
        publish({log::Topic::kEvents, core::partition_of(receipt.id, partitions_)},
                core::encode(
                    core::ReceiptOutcome{.to = receipt, .message_id = message, .reason = reason}));
        run_loops();
    }
    static TestRequest get(const std::string& path, const std::string& prefer = "wait=0") {
        return {.method = "GET", .target = path, .headers = {{"Prefer", prefer}}, .body = {}};
    }
    std::string new_receipt() {
        if (!target) target = subscribed();
        return path_in(ask(post_data(target->path).with("Prefer", "respond-async")));
    }
    /// So many requests that wait.
    std::vector<std::shared_ptr<test::TestExchange>> wait_at(
        const std::string& path, std::size_t count, const std::string& peer = "192.0.2.7") {
        std::vector<std::shared_ptr<test::TestExchange>> all;
        auto request = get(path, "wait=20");
        request.peer = peer;
        for (std::size_t i = 0; i < count; ++i) all.push_back(begin(request));
        run_loops();
        for (const auto& one : all) CHECK_FALSE(one->answer);
        return all;
    }
    /// `count` polls at as many subscriptions as that takes.
    void fill(std::size_t count, const std::string& peer) {
        constexpr auto kEach = ingest::ReceiptPolls::kPollsOfSubscriptionMax;
        for (std::size_t i = 0; i < count; i += kEach) wait_at(new_receipt(), kEach, peer);
    }
    static std::string after_in(const HttpReply& page) {
        const auto next = Json::parse(page.body)["next"].get<std::string>();
        return next.substr(next.find('=') + 1);
    }
    Json outcomes(const std::string& path) {
        const auto reply = ask(get(path));
        REQUIRE(reply.status == 200);
        return Json::parse(reply.body);
    }

    std::optional<Target> target;
    ingest::ReceiptPolls polls{partitions_, *log_, executor_, clock_};
};
using Polls = ingest::ReceiptPolls;

TestRequest wishing(const TestRequest& request) { return request.with("Prefer", "respond-async"); }

}  // namespace

TEST_CASE("a POST that prefers respond-async is answered 202 with a receipt subscription") {
    World world;
    const auto to = world.subscribed();
    const auto plain = world.ask(world.post_data(to.path));
    CHECK(plain.status == 201);
    CHECK_FALSE(plain.header("Link"));

    const auto reply = world.ask(wishing(world.post_data(to.path)));
    CHECK(reply.status == 202);
    CHECK(reply.header("TTL") == "60");
    CHECK(reply.header("Location"));
    CHECK(reply.header("Preference-Applied") == "respond-async");
    const auto receipt = world.receipt_of(World::path_in(reply));
    CHECK_FALSE(receipt.sender);
    const auto stored = world.notifications();
    REQUIRE(stored.size() == 2);
    CHECK(test::header_of(stored[0], core::kReceiptHeader) == "(absent)");
    CHECK(test::header_of(stored[1], core::kReceiptHeader) == core::to_text(receipt));
}

TEST_CASE("the receipt subscription of an authenticated sender is the sender's") {
    World world;
    const auto to = world.subscribed();
    const auto reply =
        world.ask(wishing(world.post_data(to.path)).with("Authorization", world.vapid_header()));
    const auto receipt = world.receipt_of(World::path_in(reply));
    REQUIRE(receipt.sender);
    const auto hash = core::sha256(world.vapid_.public_point());
    CHECK(std::equal(receipt.sender->bytes.begin(), receipt.sender->bytes.end(), hash.begin()));
}

TEST_CASE("Push-Receipt names the subscription that receives the outcome of a further message") {
    World world;
    const auto to = world.subscribed();
    const auto first = World::path_in(world.ask(wishing(world.post_data(to.path))));
    for (const auto& url :
         {first, std::string{World::kOrigin} + first, "https://former.example:443" + first,
          "HTTPS://Former.Example" + first}) {
        const auto reply = world.ask(wishing(world.post_data(to.path)).with("Push-Receipt", url));
        CHECK(reply.status == 202);
        CHECK(World::path_in(reply) == first);
    }
    const auto endpoint_token = "/r/" + to.path.substr(std::string{"/wpush/"}.size());
    for (const auto& url :
         {std::string{}, std::string{"/r/"}, std::string{"nonsense"}, first.substr(1), first + "x",
          endpoint_token, "https://foreign.example" + first, "http://former.example" + first,
          "https://former.example:8443" + first}) {
        const auto reply = world.ask(wishing(world.post_data(to.path)).with("Push-Receipt", url));
        CHECK(reply.status == 400);
        CHECK(reply.body.find("Push-Receipt must be the URL") != std::string::npos);
    }
}

TEST_CASE("no receipt is promised for a client whose bridge reports no outcome") {
    test::WorldOptions options;
    options.bridged_delivery = true;
    test::IngestWorld world{options};
    const auto to = world.new_target();
    world.subscribe(to.uaid, to.channel, core::RouterType::fcm);
    world.run_loops();
    const auto reply = world.ask(wishing(world.post_data(to.path)));
    CHECK(reply.status == 201);
    CHECK_FALSE(reply.header("Link"));
}

TEST_CASE("a GET gives the published outcomes, in order, and goes on where the last one ended") {
    World world;
    const auto to = world.subscribed();
    const auto path = World::path_in(world.ask(wishing(world.post_data(to.path))));
    const auto other = World::path_in(world.ask(wishing(world.post_data(to.path))));
    CHECK(world.ask(World::get(path)).status == 204);
    world.publish_outcome(path, "one");
    world.publish_outcome(other, "other");
    world.publish_outcome(path, "two", core::FinishReason::replaced);
    world.publish_outcome(path, "one",
                          core::FinishReason::expired);  // published twice: the first counts

    const auto page = world.outcomes(path);
    REQUIRE(page["receipts"].size() == 2);
    CHECK(page["receipts"][0]["message"] == std::string{World::kOrigin} + "/m/one");
    CHECK(page["receipts"][0]["status"] == 204);
    CHECK(page["receipts"][0]["outcome"] == "acknowledged");
    CHECK(page["receipts"][1]["status"] == 410);
    CHECK(page["receipts"][1]["outcome"] == "gone");
    CHECK(page["receipts"][1]["reason"] == "replaced");
    CHECK(page["complete"] == true);

    const auto next = page["next"].get<std::string>().substr(World::kOrigin.size());
    CHECK(world.ask(World::get(next)).status == 204);
    world.publish_outcome(path, "three", core::FinishReason::expired);
    CHECK(world.outcomes(next)["receipts"][0]["outcome"] == "expired");
    CHECK(world.outcomes(path)["receipts"].size() == 3);
}

TEST_CASE("a GET waits for the first outcome as long as it says") {
    World world;
    const auto to = world.subscribed();
    const auto path = World::path_in(world.ask(wishing(world.post_data(to.path))));
    const auto waiting = world.begin(World::get(path, "wait=10"));
    const auto short_one = world.begin(World::get(path, "wait=2"));
    const auto silent = world.begin({.method = "GET", .target = path, .headers = {}, .body = {}});
    world.run_loops(3s);
    REQUIRE(short_one->answer);
    CHECK(short_one->answer->status == 204);
    CHECK_FALSE(waiting->answer);
    world.publish_outcome(path, "one");
    REQUIRE(waiting->answer);
    CHECK(waiting->answer->status == 200);
    REQUIRE(silent->answer);
    CHECK(silent->answer->status == 200);
}

TEST_CASE("at a stop polls for receipts are answered at once") {
    World world;
    const auto to = world.subscribed();
    const auto path = World::path_in(world.ask(wishing(world.post_data(to.path))));
    const auto waiting = world.begin(World::get(path, "wait=20"));
    world.run_loops(1s);
    CHECK_FALSE(waiting->answer);
    world.polls.end();
    world.run_loops();
    REQUIRE(waiting->answer);
    CHECK(waiting->answer->status == 204);
}

TEST_CASE("one subscription takes no more than its places: its oldest request makes space") {
    World world;
    const auto path = world.new_receipt();
    const auto waiting = world.wait_at(path, Polls::kPollsOfSubscriptionMax);
    const auto other = world.wait_at(world.new_receipt(), 1);
    const auto next = world.begin(World::get(path, "wait=20"));
    world.run_loops();
    REQUIRE(waiting.front()->answer);
    CHECK(waiting.front()->answer->status == 204);
    for (std::size_t i = 1; i < waiting.size(); ++i) CHECK_FALSE(waiting[i]->answer);
    CHECK_FALSE(next->answer);
    CHECK_FALSE(other.front()->answer);

    world.publish_outcome(path, "one");
    REQUIRE(next->answer);
    CHECK(next->answer->status == 200);
    CHECK(waiting.back()->answer->status == 200);
}

TEST_CASE("one address takes no more than its places, and others have theirs") {
    World world;
    world.fill(Polls::kPollsOfPeerMax, "192.0.2.7");
    const auto path = world.new_receipt();
    const auto refused = world.ask(World::get(path, "wait=20"));
    CHECK(refused.status == 429);
    CHECK(refused.header("Retry-After") == "10");
    CHECK(refused.body.find("from one address") != std::string::npos);
    CHECK(world.ask(World::get(path)).status == 204);  // a GET that need not wait needs no place
    CHECK_FALSE(world.wait_at(path, 1, "192.0.2.8").back()->answer);
    world.run_loops(21s);  // those that waited have been answered
    world.fill(Polls::kPollsOfPeerMax, "192.0.2.7");
}

TEST_CASE("waiting GETs beyond the bound are refused") {
    World world;
    for (int round = 0; round < 2; ++round) {  // the second finds as much space as the first
        for (std::size_t i = 0; i < Polls::kPollsMax / Polls::kPollsOfPeerMax; ++i) {
            world.fill(Polls::kPollsOfPeerMax, "192.0.2." + std::to_string(10 + i));
        }
        const auto refused = world.ask(World::get(world.new_receipt(), "wait=20"));
        CHECK(refused.status == 503);
        CHECK(refused.header("Retry-After") == "10");
        world.run_loops(21s);  // those that waited have been answered
    }
}

TEST_CASE("while the events cannot be read a GET is answered 503 with Retry-After") {
    World world;
    const auto to = world.subscribed();
    const auto path = World::path_in(world.ask(wishing(world.post_data(to.path))));
    world.log_->set_away(true);
    const auto reply = world.ask(World::get(path));
    CHECK(reply.status == 503);
    CHECK(reply.header("Retry-After") == "1");
    world.log_->set_away(false);
    world.run_loops(2s);
    CHECK(world.ask(World::get(path)).status == 204);
}

TEST_CASE("a GET of something else is refused") {
    World world;
    const auto to = world.subscribed();
    const auto path = World::path_in(world.ask(wishing(world.post_data(to.path))));
    CHECK(world.ask(World::get("/r/" + std::string(66, 'A'))).status == 404);
    CHECK(world.ask(World::get("/r/x")).status == 404);
    for (const auto* query : {"?after=", "?after=x", "?before=3", "?after=3&x=1", "?after=-2"}) {
        CHECK(world.ask(World::get(path + query)).status == 400);
    }
    CHECK(world.ask(world.post_data(path)).header("Allow") == "GET");
}

TEST_CASE("Prefer is read as RFC 7240 has it, and malformed parts are ignored") {
    const auto read = [](std::string_view prefer) {
        ingest::HttpRequest request;
        request.extra.push_back({"prefer", prefer});
        request.extra.push_back({"priority", "u=1"});
        return ingest::preferences(request);
    };
    using Wanted = ingest::Preferences;
    CHECK(read("respond-async") == Wanted{.respond_async = true, .wait = {}});
    CHECK(read("Respond-Async, WAIT=10") == Wanted{.respond_async = true, .wait = 10s});
    CHECK(read("wait = 5; x=y , respond-async") == Wanted{.respond_async = true, .wait = 5s});
    CHECK(read("wait=1, wait=2") == Wanted{.respond_async = false, .wait = 1s});
    for (const auto* text : {"", ",", "wait", "wait=", "wait=x", "wait=-1", "wait=1x", "wait=1 2",
                             "respond", "respond-asynchronous", "wait=99999999999"}) {
        CHECK(read(text) == Wanted{});
    }
}

TEST_CASE("the index keeps a bounded number of outcomes and knows what it forgot") {
    ingest::ReceiptIndex index{3};
    const core::ReceiptId one{core::random_uuid4()};
    const core::ReceiptId two{core::random_uuid4()};
    const auto entry = [](core::Offset offset) {
        return ingest::ReceiptIndex::Entry{
            .offset = offset, .time = {}, .message_id = std::to_string(offset), .reason = {}};
    };
    CHECK(index.add(0, one, entry(1)));
    CHECK(index.add(0, two, entry(2)));
    CHECK(index.add(0, one, entry(3)));
    CHECK(index.complete(0, -1));
    CHECK(index.add(0, one, entry(5)));
    CHECK(index.after(one, -1, 10) == std::vector{entry(3), entry(5)});
    CHECK(index.after(one, -1, 1) == std::vector{entry(3)});
    CHECK(index.after(one, 3, 10) == std::vector{entry(5)});
    CHECK_FALSE(index.complete(0, 0));
    CHECK(index.complete(0, 1));
    CHECK(index.complete(1, -1));
}

TEST_CASE("outcomes that are read again stand once in the index") {
    constexpr auto kMany = static_cast<core::Offset>(2 * ingest::ReceiptIndex::kReadBack);
    ingest::ReceiptIndex index{1'000};
    const core::ReceiptId one{core::random_uuid4()};
    const core::ReceiptId two{core::random_uuid4()};
    const auto entry = [](core::Offset offset) {
        return ingest::ReceiptIndex::Entry{
            .offset = offset, .time = {}, .message_id = std::to_string(offset), .reason = {}};
    };
    for (int round = 0; round < 2; ++round) {
        for (core::Offset offset = 0; offset < kMany; ++offset) {
            CHECK(index.add(0, one, entry(offset)));
        }
        CHECK(index.after(one, -1, 1'000).size() == static_cast<std::size_t>(kMany));
        if (round == 0) CHECK(index.add(1, two, entry(7)));
        if (round == 0) index.clear(0);
    }
    CHECK(index.after(two, -1, 10) == std::vector{entry(7)});
}

TEST_CASE("a sender that is answered 410 receives it as an event too, once") {
    World world;
    const auto events = [&] { return world.records(log::Topic::kEvents.index()); };
    const auto to = world.new_target(true);
    CHECK(world.ask(world.post_data(to.path)).status == 401);
    const auto request = world.post_data(to.path).with("Authorization", world.vapid_header());
    for (int i = 0; i < 3; ++i) CHECK(world.ask(request).status == 410);
    REQUIRE(events().size() == 1);
    const auto event = Json::parse(*events()[0].record.value);
    CHECK(event["type"] == "beckon.subscription.gone");
    CHECK(event["data"]["endpoint"] == std::string{World::kOrigin} + to.path);
    CHECK(event["data"]["reason"] == "answered_410");
    const auto hash = core::sha256(world.vapid_.public_point());
    const auto hex = core::hex({reinterpret_cast<const char*>(hash.data()), hash.size()});
    CHECK(event["beckonowner"] == "vapid-" + hex.substr(0, 32));

    CHECK(world.ask(world.post_data(world.new_target().path)).status == 410);
    CHECK(events().size() == 1);  // nobody was authenticated
}

TEST_CASE("a sender without a webhook for it is answered 410, and no event is written") {
    World world;
    std::string asked;
    world.gone_wanted([&asked](std::string_view owner) {
        asked = owner;
        return false;
    });
    const auto to = world.new_target(true);
    const auto request = world.post_data(to.path).with("Authorization", world.vapid_header());
    CHECK(world.ask(request).status == 410);
    CHECK(world.records(log::Topic::kEvents.index()).empty());
    CHECK(asked.starts_with("vapid-"));
}
