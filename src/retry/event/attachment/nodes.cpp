#include "retry/event/attachment/nodes.hpp"

#include "core/decimal.hpp"
#include "core/json_parts.hpp"

#include <algorithm>

namespace beckon::retry {

namespace {

using Value = JsonTree::Value;

void spend(Work& work, std::size_t amount) {
    if (amount > work.left) throw TooMuchWork{};
    work.left -= amount;
}

std::int64_t size_of(const Picked::List& list) { return static_cast<std::int64_t>(list.size()); }
const Picked& element(const Picked::List& list, std::int64_t index) {
    return list[static_cast<std::size_t>(index)];
}

/// Where a slice begins or ends: counted from the end if below zero, and held to the list.
std::int64_t bound_of(std::int64_t given, std::int64_t size, std::int64_t least,
                      std::int64_t most) {
    const auto place = given < 0 ? given + size : given;
    return std::clamp(place, least, most);
}

/// The members, by name; of those with one name the last.
Picked::Object in_order(Picked::Object members) {
    std::stable_sort(members.begin(), members.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    Picked::Object last;
    for (auto& one : members) {
        if (!last.empty() && last.back().first == one.first) last.pop_back();
        last.push_back(std::move(one));
    }
    return last;
}

/// What `make` makes of the list, or of the values of the object, that `left` picks.
template <class F>
Pick list_from(node::Over over, Pick left, F make) {
    return [over, left = std::move(left), make = std::move(make)](const Picked& at, Work& work) {
        spend(work, Work::kValue);
        const auto from = left(at, work);
        const auto list = over == node::Over::list ? from.elements(work) : from.values(work);
        if (!list) return Picked{};
        Picked::List out;
        make(*list, out, work);
        return Picked{std::move(out)};
    };
}

}  // namespace

bool Picked::is_null() const {
    const auto* there = std::get_if<Value>(&is_);
    return there ? there->is_null() : std::holds_alternative<std::monostate>(is_);
}

template <class F>
bool Picked::each_member(F&& f) const {
    const auto* there = std::get_if<Value>(&is_);
    const auto* made = std::get_if<std::shared_ptr<const Object>>(&is_);
    if (made) {
        for (const auto& [name, value] : **made) f(name, value);
    } else if (there && there->is_object()) {
        there->any_member([&](std::string_view name, const Value& value) {
            f(name, Picked{value});
            return false;
        });
    } else {
        return false;
    }
    return true;
}

Picked Picked::member(std::string_view name, Work& work) const {
    Picked found;
    each_member([&](std::string_view one, const Picked& value) {
        spend(work, 1);
        if (one == name) found = value;
    });
    return found;
}

std::shared_ptr<const Picked::List> Picked::elements(Work& work) const {
    if (const auto* made = std::get_if<std::shared_ptr<const List>>(&is_)) return *made;
    const auto* there = std::get_if<Value>(&is_);
    if (!there || !there->is_list()) return nullptr;
    spend(work, there->size());
    List list;
    list.reserve(there->size());
    there->any_element([&](const Value& one) {
        list.emplace_back(one);
        return false;
    });
    return std::make_shared<const List>(std::move(list));
}

std::shared_ptr<const Picked::List> Picked::values(Work& work) const {
    Object members;
    const bool is_object = each_member([&](std::string_view name, const Picked& value) {
        spend(work, Work::kValue);
        members.emplace_back(name, value);
    });
    if (!is_object) return nullptr;
    List list;
    for (auto& [name, value] : in_order(std::move(members))) list.push_back(std::move(value));
    return std::make_shared<const List>(std::move(list));
}

void Picked::append_to(std::string& out, Work& work) const {
    spend(work, Work::kValue);
    if (const auto* there = std::get_if<Value>(&is_)) {
        spend(work, there->json().size());
        out.append(there->json());
    } else if (const auto* list = std::get_if<std::shared_ptr<const List>>(&is_)) {
        out.push_back('[');
        for (const auto& one : **list) {
            if (&one != &(*list)->front()) out.push_back(',');
            one.append_to(out, work);
        }
        out.push_back(']');
    } else if (const auto* object = std::get_if<std::shared_ptr<const Object>>(&is_)) {
        out.push_back('{');
        for (const auto& [name, value] : **object) {
            spend(work, name.size());
            if (&name != &(*object)->front().first) out.push_back(',');
            out.append(core::json_string(name)).push_back(':');
            value.append_to(out, work);
        }
        out.push_back('}');
    } else {
        out.append("null");
    }
}

namespace node {

Pick current() {
    return [](const Picked& at, Work& work) {
        spend(work, Work::kValue);
        return at;
    };
}

Pick field(std::string name) {
    return [name = std::move(name)](const Picked& at, Work& work) {
        spend(work, Work::kValue);
        return at.member(name, work);
    };
}

Pick index(std::int64_t index) {
    return [index](const Picked& at, Work& work) {
        spend(work, Work::kValue);
        const auto list = at.elements(work);
        if (!list) return Picked{};
        const auto place = index < 0 ? index + size_of(*list) : index;
        return place < 0 || place >= size_of(*list) ? Picked{} : element(*list, place);
    };
}

Pick slice(Pick left, const Slice& of) {
    return list_from(Over::list, std::move(left), [of](const auto& list, auto& out, Work& work) {
        const auto size = size_of(list);
        const bool forward = of.step > 0;
        const auto least = forward ? 0 : -1;
        const auto most = forward ? size : size - 1;
        const auto first =
            of.start ? bound_of(*of.start, size, least, most) : (forward ? 0 : size - 1);
        const auto last = of.stop ? bound_of(*of.stop, size, least, most) : (forward ? size : -1);
        for (auto i = first; forward ? i < last : i > last; i += of.step) {
            spend(work, Work::kValue);
            out.push_back(element(list, i));
        }
    });
}

Pick chain(Pick left, Pick right) {
    return [left = std::move(left), right = std::move(right)](const Picked& at, Work& work) {
        return right(left(at, work), work);
    };
}

Pick flatten(Pick left) {
    return list_from(Over::list, std::move(left), [](const auto& list, auto& out, Work& work) {
        for (const auto& one : list) {
            const auto inner = one.elements(work);
            spend(work, Work::kValue * (inner ? inner->size() : 1));
            if (inner) {
                out.insert(out.end(), inner->begin(), inner->end());
            } else {
                out.push_back(one);
            }
        }
    });
}

Pick projection(Over over, Pick left, Pick right) {
    return list_from(over, std::move(left),
                     [right = std::move(right)](const auto& list, auto& out, Work& work) {
                         for (const auto& one : list) {
                             auto picked = right(one, work);
                             if (!picked.is_null()) out.push_back(std::move(picked));
                         }
                     });
}

Pick list_of(std::vector<Pick> parts) {
    return [parts = std::move(parts)](const Picked& at, Work& work) {
        spend(work, Work::kValue);
        if (at.is_null()) return Picked{};
        Picked::List out;
        for (const auto& part : parts) out.push_back(part(at, work));
        return Picked{std::move(out)};
    };
}

Pick object_of(std::vector<std::pair<std::string, Pick>> parts) {
    return [parts = std::move(parts)](const Picked& at, Work& work) {
        spend(work, Work::kValue);
        if (at.is_null()) return Picked{};
        Picked::Object out;
        for (const auto& [name, part] : parts) out.emplace_back(name, part(at, work));
        return Picked{in_order(std::move(out))};
    };
}

Pick pointer(std::vector<std::string> names) {
    return [names = std::move(names)](const Picked& at, Work& work) {
        auto here = at;
        for (const auto& name : names) {
            spend(work, Work::kValue);
            if (const auto list = here.elements(work)) {
                const bool plain = name == "0" || !name.starts_with('0');
                const auto place = plain ? core::parse_decimal<std::size_t>(name) : std::nullopt;
                here = place && *place < list->size() ? (*list)[*place] : Picked{};
            } else {
                here = here.member(name, work);
            }
        }
        return here;
    };
}

}  // namespace node

}  // namespace beckon::retry
