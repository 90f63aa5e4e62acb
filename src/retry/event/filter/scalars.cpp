#include "retry/event/filter/scalars.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>

#include <nlohmann/json.hpp>

namespace beckon::retry {

using Json = nlohmann::json;

Number number_of(const Json& number) {
    if (number.is_number_float()) return number.get<double>();
    if (number.is_number_unsigned()) return static_cast<Number>(number.get<std::uint64_t>());
    return static_cast<Number>(number.get<std::int64_t>());
}

std::string number_term(Number number) {
    constexpr Number kTwoTo63 = 9'223'372'036'854'775'808.0L;
    std::array<char, 32> text{'n'};
    const auto print = [&text](auto value) {
        return std::to_chars(text.data() + 1, text.data() + text.size(), value).ptr;
    };
    const bool whole = std::floor(number) == number;
    char* const end =
        whole && number >= -kTwoTo63 && number < 0      ? print(static_cast<std::int64_t>(number))
        : whole && number >= 0 && number < 2 * kTwoTo63 ? print(static_cast<std::uint64_t>(number))
                                                        : print(static_cast<double>(number));
    return {text.data(), end};
}

std::string text_term(std::string_view text) { return std::string{"s"}.append(text); }
std::string boolean_term(bool value) { return value ? "b1" : "b0"; }

std::string term_of(const Json& scalar) {
    if (scalar.is_number()) return number_term(number_of(scalar));
    if (scalar.is_boolean()) return boolean_term(scalar.get<bool>());
    return text_term(scalar.get_ref<const std::string&>());
}

}  // namespace beckon::retry
