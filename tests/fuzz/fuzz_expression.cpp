// The first line is an expression of an attachment, the rest a document. Every expression is
// refused with the place of its fault, or selects within its bound of work, and gives the same each
// time.
#include "core/json_parts.hpp"
#include "fuzz/require.hpp"
#include "retry/event/attachment/attachments.hpp"
#include "retry/event/attachment/expression.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

using namespace beckon::retry;
using beckon::test::require;
using Json = nlohmann::json;

namespace {

constexpr std::string_view kDocument =
    R"({"a":[{"b":1,"c":[[2,3],[]]},{"b":null},"x"],"b":{"a":{"b":"y"},"c":[0,1,2,3]},"c":7})";

std::string_view document_of(std::string_view text) {
    const auto value = beckon::core::json_value(text);
    return value && (value->starts_with('{') || value->starts_with('[')) ? *value : kDocument;
}

void select(const Expression& expression, const JsonTree& document) {
    Work work;
    const auto once = expression.select(document, work);
    require(work.left <= Work::kMax);
    require(!once || beckon::core::json_value(*once));
    Work again;
    const auto twice = expression.select(document, again);
    require(once.has_value() == twice.has_value() && work.left == again.left);
    require(!once || *once == *twice);
    // Every byte that was copied into the answer was counted as work.
    require(!once || once->size() <= Work::kMax - work.left);
}

void attach(const std::string& expression, std::string_view document) {
    const auto payload = Json::parse(
        with_attachments(std::string{document}, {{"one", expression}, {"two", expression}}));
    if (!payload.is_object()) return;
    const auto& all = payload.at(kAttachmentsMember);
    require(all.contains("one") != (all.contains("_errors") && all["_errors"].contains("one")));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text{reinterpret_cast<const char*>(data), size};
    const auto line = text.substr(0, text.find('\n'));
    const auto rest =
        line.size() == text.size() ? std::string_view{} : text.substr(line.size() + 1);
    if (rest.size() > 4'096) return 0;
    const auto document = document_of(rest);
    const auto expression = Expression::compile(line);
    if (expression) {
        select(*expression, JsonTree{document});
    } else {
        require(!expression.error().message.empty());
    }
    attach(std::string{line}, document);
    return 0;
}
