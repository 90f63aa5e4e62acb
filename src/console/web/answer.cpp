#include "console/web/answer.hpp"

#include "core/json_text.hpp"

#include <nlohmann/json.hpp>

namespace beckon::console {

Answer refused(int status, std::string_view why) {
    return {status, core::json_text(nlohmann::json{{"error", why}})};
}

Answer refused(const core::Error& error) {
    return refused(error.fault == core::Fault::not_found ? net::kNotFound : net::kUnavailable,
                   error.message);
}

}  // namespace beckon::console
