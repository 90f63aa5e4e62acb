#include "core/terminal_text.hpp"

#include <catch2/catch.hpp>

using beckon::core::has_terminal_control;
using beckon::core::terminal_text;

TEST_CASE("a terminal obeys nothing in a text of others") {
    CHECK(terminal_text("plain, with \xc3\xbc and \xf0\x9f\x98\x80") ==
          "plain, with \xc3\xbc and \xf0\x9f\x98\x80");
    CHECK(terminal_text("a\x1b[2J\rb\x7f") == "a\\u001b[2J\\u000db\\u007f");
    CHECK(terminal_text("\xc2\x9b"
                        "2J") == "\\u009b2J");
    CHECK(terminal_text("moc.elpmaxe \xe2\x80\xae//") == "moc.elpmaxe \\u202e//");
    CHECK(terminal_text("\xe2\x81\xa6\xd8\x9c\xe2\x80\x8f\xe2\x80\xa8") ==
          "\\u2066\\u061c\\u200f\\u2028");
    CHECK(terminal_text("two\nlines\tand a tab") == "two\nlines\tand a tab");
    // Terminals of eight bits would obey the byte 0x9b, whatever stands before it.
    CHECK(terminal_text("\x9b"
                        "2J\xe2\x9b") ==
          "\xef\xbf\xbd"
          "2J\xef\xbf\xbd\xef\xbf\xbd");
    CHECK(terminal_text("\xef\xbf\xbd") == "\xef\xbf\xbd");
}

TEST_CASE("a name with a character that a terminal obeys is recognised") {
    for (const auto* text : {"\n", "a\x1b", "\x7f", "\xc2\x9b", "\xe2\x80\xae", "\xe2\x81\xa9"}) {
        CHECK(has_terminal_control(text));
    }
    CHECK_FALSE(has_terminal_control("order.created \xc3\xbc \xd7\xa9\xd7\x9c"));
}
