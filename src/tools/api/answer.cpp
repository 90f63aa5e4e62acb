#include "tools/api/answer.hpp"

#include "app/exit_codes.hpp"
#include "app/process/output.hpp"
#include "core/json_text.hpp"

#include <nlohmann/json.hpp>

namespace beckon::tools {

using Json = nlohmann::ordered_json;

Json parsed(const client::ApiAnswer& answer) {
    auto json = core::parse_ordered_json(answer.body);
    return json.is_discarded() ? Json::object() : json;
}

int print_answer(const core::Result<client::ApiAnswer>& answer) {
    if (!answer || !answer->good()) return refused(answer);
    if (!answer->body.empty()) app::print_line(core::json_text(parsed(*answer), 2));
    return 0;
}

int refused(const core::Result<client::ApiAnswer>& answer) {
    if (!answer) {
        app::print_error("beckon: " + app::with_remedy(answer.error()));
        return app::kFailed;
    }
    const auto problem = parsed(*answer);
    const auto detail = core::text_member(problem, "detail");
    app::print_error("beckon: " + std::to_string(answer->status) + " " +
                     core::text_member(problem, "title") + (detail.empty() ? "" : ": " + detail));
    return app::kFailed;
}

}  // namespace beckon::tools
