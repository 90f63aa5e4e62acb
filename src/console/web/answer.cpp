#include "console/web/answer.hpp"

#include "core/json_text.hpp"

#include <nlohmann/json.hpp>

namespace beckon::console {

Answer refused(int status, std::string_view why) {
    return {status, core::json_text(nlohmann::json{{"error", why}})};
}

}  // namespace beckon::console
