// The subset of JMESPath, by the rules of its specification, and JSON Pointer.
// tests/e2e/jmespath.mjs holds it to a library of JMESPath besides.
#include "retry/event/attachment/expression.hpp"

#include "support/json_tree_of.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

using namespace beckon;
using namespace beckon::retry;
using Json = nlohmann::json;

namespace {

const char* const kDocument = R"({
    "type": "order.created",
    "data": {
        "id": 7,
        "a name": "quoted",
        "gr\u00fc\u00dfe": "letters",
        "empty": [],
        "nothing": null,
        "customer": {"name": "Ann", "mail": {"home": "a@h", "work": "a@w"}},
        "items": [
            {"sku": "a", "price": 1, "tags": ["x", "y"]},
            {"sku": "b", "price": 2, "tags": []},
            {"sku": "c", "tags": ["z"]}
        ],
        "grid": [[1, 2], [3, [4, 5]], 6],
        "numbers": [0, 1, 2, 3, 4, 5]
    }
})";

struct Case {
    const char* expression;
    const char* result;
};

void check(std::initializer_list<Case> cases) {
    const JsonTree document{kDocument};
    for (const auto& [text, result] : cases) {
        CAPTURE(text);
        const auto expression = Expression::compile(text);
        REQUIRE(expression);
        Work work;
        CHECK(Json::parse(*expression->select(document, work)) == Json::parse(result));
    }
}

std::string fault_of(const std::string& text) {
    const auto expression = Expression::compile(text);
    return expression ? "" : expression.error().message;
}

}  // namespace

TEST_CASE("fields name members, and a missing member is null", "[retry][attachment]") {
    check({{"type", R"("order.created")"},
           {"data.id", "7"},
           {"data.customer.mail.work", R"("a@w")"},
           {" data . customer . name ", R"("Ann")"},
           {R"(data."a name")", R"("quoted")"},
           {R"(data."gr\u00fc\u00dfe")", R"("letters")"},
           {"data.absent", "null"},
           {"data.absent.further", "null"},
           {"data.id.further", "null"},
           {"data.items.sku", "null"},
           {"data.nothing", "null"},
           {"@.data.id", "7"}});
}

TEST_CASE("an index counts from the beginning or from the end", "[retry][attachment]") {
    check({{"data.numbers[0]", "0"},
           {"data.numbers[5]", "5"},
           {"data.numbers[6]", "null"},
           {"data.numbers[-1]", "5"},
           {"data.numbers[-6]", "0"},
           {"data.numbers[-7]", "null"},
           {"data.grid[1][1][0]", "4"},
           {"data.customer[0]", "null"},
           {"data.items[0].sku", R"("a")"}});
}

TEST_CASE("a slice is a projection over its elements", "[retry][attachment]") {
    check({{"data.numbers[1:3]", "[1, 2]"},
           {"data.numbers[:2]", "[0, 1]"},
           {"data.numbers[4:]", "[4, 5]"},
           {"data.numbers[:]", "[0, 1, 2, 3, 4, 5]"},
           {"data.numbers[::2]", "[0, 2, 4]"},
           {"data.numbers[::-1]", "[5, 4, 3, 2, 1, 0]"},
           {"data.numbers[-2:]", "[4, 5]"},
           {"data.numbers[:-4]", "[0, 1]"},
           {"data.numbers[10:]", "[]"},
           {"data.numbers[-100:100]", "[0, 1, 2, 3, 4, 5]"},
           {"data.numbers[8:2:-2]", "[5, 3]"},
           {"data.numbers[3:1]", "[]"},
           {"data.customer[0:1]", "null"},
           {"data.items[:2].sku", R"(["a", "b"])"},
           {"data.items[:2].tags[0]", R"(["x"])"}});
}

TEST_CASE("a projection applies the rest of the expression to each element and leaves nulls out",
          "[retry][attachment]") {
    check({{"data.items[*].sku", R"(["a", "b", "c"])"},
           {"data.items[*].price", "[1, 2]"},
           {"data.items[*].tags", R"([["x", "y"], [], ["z"]])"},
           {"data.items[*].tags[0]", R"(["x", "z"])"},
           {"data.items[*].tags[*]", R"([["x", "y"], [], ["z"]])"},
           {"data.customer.mail.*", R"(["a@h", "a@w"])"},
           {"data.customer.*.home", R"(["a@h"])"},
           {"data.empty[*].x", "[]"},
           {"data.id[*]", "null"},
           {"data.items.*", "null"},
           {"*.id", "[7]"},
           {"[*]", "null"}});
}

TEST_CASE("flattening spreads one level of lists", "[retry][attachment]") {
    check({{"data.grid[]", "[1, 2, 3, [4, 5], 6]"},
           {"data.grid[][]", "[1, 2, 3, 4, 5, 6]"},
           {"data.items[].tags[]", R"(["x", "y", "z"])"},
           {"data.items[*].tags[]", R"(["x", "y", "z"])"},
           {"data.items[].sku", R"(["a", "b", "c"])"},
           {"data.customer[]", "null"}});
}

TEST_CASE("several parts make a list or an object", "[retry][attachment]") {
    check({{"data.[id, customer.name]", R"([7, "Ann"])"},
           {"[type, data.id]", R"(["order.created", 7])"},
           {"{kind: type, \"who is it\": data.customer.name}",
            R"({"kind": "order.created", "who is it": "Ann"})"},
           {"data.items[*].[sku, price]", R"([["a", 1], ["b", 2], ["c", null]])"},
           {"data.items[*].{s: sku}", R"([{"s": "a"}, {"s": "b"}, {"s": "c"}])"},
           {"data.absent.[id]", "null"},
           {"data.absent.{a: id}", "null"},
           {"{a: data.items[0].{b: tags[1]}}", R"({"a": {"b": "y"}})"}});
}

TEST_CASE("a pipe ends a projection", "[retry][attachment]") {
    check({{"data.items[*].sku | [0]", R"("a")"},
           {"data.items[*].tags | [0]", R"(["x", "y"])"},
           {"data.items[*].tags | [] | [2]", R"("z")"},
           {"(data.items[*].sku)[1]", R"("b")"},
           {"data | customer | name", R"("Ann")"},
           {"data.items[].{s: sku} | [-1].s", R"("c")"}});
}

TEST_CASE("a JSON Pointer begins with a slash", "[retry][attachment]") {
    check({{"/data/id", "7"},
           {"/data/items/1/sku", R"("b")"},
           {"/data/a name", R"("quoted")"},
           {"/data/items/9", "null"},
           {"/data/items/-", "null"},
           {"/data/items/01", "null"},
           {"/data/items/99999999999999999999999", "null"},
           {"/data/absent/further", "null"},
           {"/", "null"}});
    const auto escaped = Expression::compile("/a~1b/c~0d");
    Work work;
    CHECK(*escaped->select(JsonTree{R"({"a/b": {"c~d": 1}})"}, work) == "1");
    CHECK(fault_of("/a~2") == "at byte 0: in a JSON Pointer only ~0 and ~1 may follow a ~");
}

TEST_CASE("an expression that cannot be read says where and why", "[retry][attachment]") {
    CHECK(fault_of("") == "must have 1 to 1024 bytes");
    CHECK(fault_of(std::string(1'025, 'a')) == "must have 1 to 1024 bytes");
    CHECK(fault_of("data.") == "at byte 5: a name, *, [ or { is expected");
    CHECK(fault_of(".data") == "at byte 0: a name, @, *, [, { or ( is expected");
    CHECK(fault_of("data id") == "at byte 5: nothing more is expected");
    CHECK(fault_of("data[") == "at byte 5: a number, a slice or * is expected");
    CHECK(fault_of("data[0") == "at byte 6: ] is missing");
    CHECK(fault_of("data[a]") == "at byte 5: a number, a slice or * is expected");
    CHECK(fault_of("data[0:1:0]") == "at byte 9: the step of a slice must not be 0");
    CHECK(fault_of("data[1:2:3:4]") == "at byte 10: ] is missing");
    CHECK(fault_of("data[99999999999]") == "at byte 5: no number from -1000000000 to 1000000000");
    CHECK(fault_of("[-]") == "at byte 1: no number from -1000000000 to 1000000000");
    CHECK(fault_of("[a,]") == "at byte 3: a name, @, *, [, { or ( is expected");
    CHECK(fault_of("{a}") == "at byte 2: : is missing");
    CHECK(fault_of("{a: b") == "at byte 5: } is missing");
    CHECK(fault_of("(a") == "at byte 2: ) is missing");
    CHECK(fault_of("\"a") == "at byte 0: a quoted name without its end");
    CHECK(fault_of("\"\\q\"") == "at byte 0: a quoted name that is no JSON string");
    CHECK(fault_of("a#b") == "at byte 1: a character that begins nothing");
    CHECK(fault_of(std::string(40, '(') + "a" + std::string(40, ')')) ==
          "at byte 32: nested too deeply");
}

TEST_CASE("other parts of JMESPath are named when they are refused", "[retry][attachment]") {
    CHECK(fault_of("items[?price > `1`]") == "at byte 5: a filter is not known here");
    CHECK(fault_of("a || b") == "at byte 2: the operator || is not known here");
    CHECK(fault_of("`1`") == "at byte 0: a literal is not known here");
    CHECK(fault_of("'a'") == "at byte 0: a literal is not known here");
    CHECK(fault_of("a == b") == "at byte 2: a comparison is not known here");
    CHECK(fault_of("!a") == "at byte 0: the operator ! is not known here");
    CHECK(fault_of("a && b") == "at byte 2: the operator & is not known here");
    CHECK(fault_of("length(a)") == "at byte 6: a function is not known here");
}

TEST_CASE("work is bounded, and several expressions share it", "[retry][attachment]") {
    const auto document = test::tree_of({{"a", std::string(100'000, 'x')}});
    const auto copies = Expression::compile("[a, a, a, a]");
    Work work;
    CHECK(copies->select(document, work));
    CHECK(work.left < Work::kMax - 400'000);
    CHECK(copies->select(document, work));
    const auto third = copies->select(document, work);
    REQUIRE_FALSE(third);
    CHECK(third.error().fault == core::Fault::too_large);
}

TEST_CASE("a value costs more work than a byte, since it takes longer", "[retry][attachment]") {
    const auto document = test::tree_of({{"a", std::vector<int>(10'000, 1)}});
    const auto copy = Expression::compile("a[*]");
    Work work;
    CHECK(copy->select(document, work));
    CHECK(work.left < Work::kMax - 10'000 * Work::kValue);
    int times = 1;
    while (copy->select(document, work)) ++times;
    CHECK(times >= 2);
    CHECK(times <= 6);
}

TEST_CASE("no value refers to intermediate values after their end", "[retry][attachment]") {
    const JsonTree document{R"({"a": [[{"b": "a text that is not held in place"}]]})"};
    for (const auto* text : {"a[][] | [0].b", "[a[0][0].b] | [0]", "{x: a}.x[0][0].b",
                             "(a[*] | [0])[0].b", "a[0:1] | [0][0].b"}) {
        CAPTURE(text);
        Work work;
        CHECK(*Expression::compile(text)->select(document, work) ==
              R"("a text that is not held in place")");
    }
}
