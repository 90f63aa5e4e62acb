#include "console/web/live_pages.hpp"

#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

using beckon::console::LivePages;
using beckon::console::LiveStream;
using Next = beckon::net::BodyStream::Next;

namespace {

struct Reader {
    explicit Reader(std::vector<std::string> names = {"lag"})
        : stream(pages, {.names = std::move(names),
                         .may_go_on = [this] { return may_go_on; },
                         .ended = [] {}}) {
        stream.start([this] { ++woken; });
    }
    /// The output of one call of next().
    std::string next() {
        std::string out;
        last = stream.next(out);
        return out;
    }

    LivePages pages;
    bool may_go_on = true;
    int woken = 0;
    Next last = Next::waiting;
    LiveStream stream;
};

}  // namespace

TEST_CASE("a stream has the page, and then its changes") {
    Reader reader;
    CHECK(reader.next().empty());
    CHECK(reader.last == Next::waiting);
    reader.pages.publish("lag", "1");
    CHECK(reader.next() == "event: lag\ndata: 1\n\n");
    CHECK(reader.last == Next::piece);
    CHECK(reader.next().empty());
    reader.pages.publish("lag", "2");
    reader.pages.publish("lag", "3");
    reader.pages.publish("cluster", "x");
    CHECK(reader.next() == "event: lag\ndata: 3\n\n");  // a reader that was behind
}

TEST_CASE("a page that is large comes in pieces, and nothing of it is lost") {
    Reader reader;
    const std::string page(3 * LiveStream::kPieceBytesMax, 'x');
    reader.pages.publish("lag", page);
    std::string all;
    for (;;) {
        const auto piece = reader.next();
        if (piece.empty()) break;
        CHECK(piece.size() <= LiveStream::kPieceBytesMax);
        all += piece;
    }
    CHECK(all == "event: lag\ndata: " + page + "\n\n");
}

TEST_CASE("an idle stream sends a sign of life") {
    Reader reader;
    reader.stream.beat();  // it has just begun
    CHECK(reader.woken == 0);
    reader.stream.beat();
    CHECK(reader.woken == 1);
    CHECK(reader.next() == ": still here\n\n");
    reader.stream.beat();  // it has sent something since
    CHECK(reader.next().empty());
    reader.stream.beat();
    reader.pages.publish("lag", "1");
    CHECK(reader.next() == "event: lag\ndata: 1\n\n");  // which is a sign of life, too
    CHECK(reader.next().empty());
}

TEST_CASE("a stream ends once its reader may see nothing more") {
    Reader reader;
    reader.pages.publish("lag", "1");
    reader.may_go_on = false;
    CHECK(reader.next().empty());
    CHECK(reader.last == Next::ended);
}
