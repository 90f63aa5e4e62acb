#include "retry/attachment/nodes.hpp"

#include <algorithm>

namespace beckon::retry {

using Json = nlohmann::json;

namespace {

const Json kNull;

void spend(Work& work, std::size_t amount) {
    if (amount > work.left) throw TooMuchWork{};
    work.left -= amount;
}

/// Copying a value costs kValue for each value in it, and its bytes of text.
void spend_for_copy(Work& work, const Json& value) {
    spend(work, Work::kValue);
    if (value.is_string()) return spend(work, value.get_ref<const std::string&>().size());
    if (!value.is_structured()) return;
    for (auto at = value.begin(); at != value.end(); ++at) {
        if (value.is_object()) spend(work, at.key().size());
        spend_for_copy(work, *at);
    }
}

std::int64_t size_of(const Json& list) { return static_cast<std::int64_t>(list.size()); }
const Json& element(const Json& list, std::int64_t index) {
    return list[static_cast<std::size_t>(index)];
}

/// Where a slice begins or ends: counted from the end if below zero, and held to the list.
std::int64_t bound_of(std::int64_t given, std::int64_t size, std::int64_t least,
                      std::int64_t most) {
    const auto place = given < 0 ? given + size : given;
    return std::clamp(place, least, most);
}

}  // namespace

Json Picked::take(Work& work) && {
    if (made_) return std::move(*made_);
    spend_for_copy(work, *there_);
    return *there_;
}

namespace node {

Picked Current::pick(const Json& at, Work& work) const {
    spend(work, Work::kValue);
    return Picked{at};
}

Picked Field::pick(const Json& at, Work& work) const {
    spend(work, Work::kValue);
    if (!at.is_object()) return Picked{kNull};
    const auto found = at.find(name);
    return Picked{found == at.end() ? kNull : *found};
}

Picked Index::pick(const Json& at, Work& work) const {
    spend(work, Work::kValue);
    if (!at.is_array()) return Picked{kNull};
    const auto place = index < 0 ? index + size_of(at) : index;
    return Picked{place < 0 || place >= size_of(at) ? kNull : element(at, place)};
}

Picked Slice::pick(const Json& at, Work& work) const {
    spend(work, Work::kValue);
    if (!at.is_array()) return Picked{kNull};
    const auto size = size_of(at);
    const bool forward = step > 0;
    const auto least = forward ? 0 : -1;
    const auto most = forward ? size : size - 1;
    const auto first = start ? bound_of(*start, size, least, most) : (forward ? 0 : size - 1);
    const auto last = stop ? bound_of(*stop, size, least, most) : (forward ? size : -1);
    Json out = Json::array();
    for (auto i = first; forward ? i < last : i > last; i += step) {
        out.push_back(Picked{element(at, i)}.take(work));
    }
    return Picked{std::move(out)};
}

Picked Chain::pick(const Json& at, Work& work) const {
    const auto from = left->pick(at, work);
    auto picked = right->pick(from.value(), work);
    if (!from.is_made() || picked.is_made()) return picked;
    return Picked{std::move(picked).take(work)};  // `from` ends here
}

Picked Flatten::pick(const Json& at, Work& work) const {
    spend(work, Work::kValue);
    const auto from = left->pick(at, work);
    if (!from.value().is_array()) return Picked{kNull};
    Json out = Json::array();
    for (const auto& one : from.value()) {
        if (!one.is_array()) {
            out.push_back(Picked{one}.take(work));
            continue;
        }
        for (const auto& inner : one) out.push_back(Picked{inner}.take(work));
    }
    return Picked{std::move(out)};
}

Picked Projection::pick(const Json& at, Work& work) const {
    spend(work, Work::kValue);
    const auto from = left->pick(at, work);
    const auto& list = from.value();
    if (over == Over::list ? !list.is_array() : !list.is_object()) return Picked{kNull};
    Json out = Json::array();
    for (const auto& one : list) {
        auto picked = right->pick(one, work);
        if (!picked.value().is_null()) out.push_back(std::move(picked).take(work));
    }
    return Picked{std::move(out)};
}

Picked MultiSelectList::pick(const Json& at, Work& work) const {
    spend(work, Work::kValue);
    if (at.is_null()) return Picked{kNull};
    Json out = Json::array();
    for (const auto& part : parts) out.push_back(part->pick(at, work).take(work));
    return Picked{std::move(out)};
}

Picked MultiSelectHash::pick(const Json& at, Work& work) const {
    spend(work, Work::kValue);
    if (at.is_null()) return Picked{kNull};
    Json out = Json::object();
    for (const auto& [name, part] : parts) {
        spend(work, name.size());
        out[name] = part->pick(at, work).take(work);
    }
    return Picked{std::move(out)};
}

Picked Pointer::pick(const Json& at, Work& work) const {
    spend(work, Work::kValue);
    try {
        return Picked{at.contains(pointer) ? at.at(pointer) : kNull};
    } catch (const Json::exception&) {  // an index that no list can have
        return Picked{kNull};
    }
}

}  // namespace node

}  // namespace beckon::retry
