#include "records/ownership.hpp"

#include "core/json_text.hpp"
#include "core/whole_number.hpp"
#include "records/edge_lag.hpp"
#include "records/fields.hpp"
#include "records/log_key.hpp"
#include "records/process.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

namespace beckon::cluster {

namespace {

using Json = nlohmann::json;

constexpr std::string_view kClaimType = "beckon.lease.v1";
constexpr std::string_view kPlacementType = "beckon.placement.v1";
constexpr std::string_view kEpochType = "beckon.epoch.v1";
constexpr std::string_view kNodeType = "beckon.node.v1";
constexpr std::string_view kController = "controller";

core::Record record(std::string key, std::string_view type, const Json& value) {
    return core::state_record(std::move(key), type, core::json_text(value));
}

core::Record tombstone(std::string key, std::string_view type) {
    return core::state_record(std::move(key), type, std::nullopt);
}

/// The parts of a key between slashes, at most four.
struct KeyParts {
    std::array<std::string_view, 4> part;
    std::size_t count = 0;

    explicit KeyParts(std::string_view key) {
        while (count < part.size()) {
            const auto slash = key.find('/');
            part[count++] = key.substr(0, slash);
            if (slash == std::string_view::npos) return;
            key.remove_prefix(slash + 1);
        }
        count = part.size() + 1;  // too many
    }
};

UnknownOwnership unknown(std::string_view key, std::string_view why) {
    return {std::string{why} + " in the record " + std::string{key}};
}

OwnershipEvent decode_claim(const core::RecordView& view, const KeyParts& key) {
    const auto epoch = core::parse_decimal<core::Epoch>(key.part[2]);
    if (!epoch) return unknown(view.key, "no epoch");
    return ControllerClaim{.role = std::string{key.part[1]},
                           .epoch = *epoch,
                           .node = {std::string{key.part[3]}},
                           .removed = !view.value};
}

/// The value as an object, empty if there is none to read.
Json object_of(const core::RecordView& view) {
    if (!view.value) return Json::value_t::discarded;
    return core::parse_object(*view.value).json;
}

OwnershipEvent decode_node(const core::RecordView& view, const KeyParts& key) {
    NodeRecord out{.role = std::string{key.part[0]},
                   .node = {std::string{key.part[2]}},
                   .link_url = {},
                   .ready = {},
                   .removed = !view.value};
    if (out.removed) return out;
    const auto json = object_of(view);
    if (!json.is_object()) return unknown(view.key, "no JSON object");
    out.link_url = json.value("link_url", "");
    for (const auto& p : json.value("ready", Json::array())) {
        if (p.is_number_integer()) out.ready.insert(core::whole_number<core::Partition>(p));
    }
    out.name = json.value("name", "");
    out.zone = json.value("zone", "");
    out.capacity =
        std::clamp<std::uint32_t>(core::whole_number(json, "capacity", 1U), 1, kCapacityMax);
    if (json.contains("clients"))
        out.clients = core::whole_number<std::uint64_t>(json.at("clients"));
    for (const auto& peer : json.value("links", Json::array())) {
        if (peer.is_string()) out.links.insert({peer.get<std::string>()});
    }
    out.incarnation = core::whole_number(json, "incarnation", std::uint64_t{0});
    const Json suspects = json.value("suspects", Json::object());
    for (const auto& [suspect, incarnation] : suspects.items()) {
        out.suspects.emplace(core::NodeId{suspect}, core::whole_number<std::uint64_t>(incarnation));
    }
    const Json load = json.value("load", Json::object());
    for (const auto& [partition, rate] : load.items()) {
        if (const auto p = core::parse_decimal<core::Partition>(partition))
            out.load.emplace(*p, core::whole_number<std::uint64_t>(rate));
    }
    out.joining = json.value("joining", false);
    out.leaving = json.value("leaving", false);
    return out;
}

OwnershipEvent decode_epoch(const core::RecordView& view, const KeyParts& key) {
    const auto partition = core::parse_decimal<core::Partition>(key.part[2]);
    const auto json = object_of(view);
    if (!partition || !json.is_object()) return unknown(view.key, "no partition or JSON object");
    return EpochRecord{.role = std::string{key.part[0]},
                       .partition = *partition,
                       .epoch = core::whole_number(json, "epoch", core::Epoch{0}),
                       .node = {json.value("node", "")}};
}

OwnershipEvent decode_placement(const core::RecordView& view, const KeyParts& key) {
    const auto partition = core::parse_decimal<core::Partition>(key.part[1]);
    const auto json = object_of(view);
    if (!partition || !json.is_object()) return unknown(view.key, "no partition or JSON object");
    PlacementRecord out{.role = std::string{key.part[0]},
                        .partition = *partition,
                        .home = {json.value("home", "")},
                        .standbys = {},
                        .epoch = core::whole_number(json, "epoch", core::Epoch{0})};
    for (const auto& node : json.value("standbys", Json::array())) {
        if (node.is_string()) out.standbys.push_back({node.get<std::string>()});
    }
    out.former_home = json.value("former_home", "");
    return out;
}

}  // namespace

core::Record encode(const ControllerClaim& claim) {
    auto key = std::string{kController} + '/' + claim.role + '/' + core::padded(claim.epoch) + '/' +
               claim.node.text;
    if (claim.removed) return tombstone(std::move(key), kClaimType);
    return record(std::move(key), kClaimType,
                  Json{{"epoch", claim.epoch}, {"node", claim.node.text}, {"role", claim.role}});
}

core::Record encode(const PlacementRecord& placement) {
    auto standbys = Json::array();
    for (const auto& node : placement.standbys) standbys.push_back(node.text);
    Json value{{"home", placement.home.text},
               {"standbys", std::move(standbys)},
               {"epoch", placement.epoch}};
    if (!placement.former_home.empty()) value["former_home"] = placement.former_home;
    return record(placement.role + '/' + std::to_string(placement.partition), kPlacementType,
                  value);
}

core::Record encode(const EpochRecord& epoch) {
    return record(epoch.role + "/epoch/" + std::to_string(epoch.partition), kEpochType,
                  Json{{"epoch", epoch.epoch}, {"node", epoch.node.text}});
}

core::Record encode(const NodeRecord& node) {
    auto key = node.role + "/node/" + node.node.text;
    if (node.removed) return tombstone(std::move(key), kNodeType);
    auto ready = Json::array();
    for (const auto p : node.ready) ready.push_back(p);
    Json value{{"link_url", node.link_url},
               {"ready", std::move(ready)},
               {"incarnation", node.incarnation}};
    if (!node.name.empty()) value["name"] = node.name;
    if (!node.zone.empty()) value["zone"] = node.zone;
    if (node.capacity != 1) value["capacity"] = node.capacity;
    if (node.clients) value["clients"] = *node.clients;
    for (const auto& peer : node.links) value["links"].push_back(peer.text);
    for (const auto& [suspect, incarnation] : node.suspects) {
        value["suspects"][suspect.text] = incarnation;
    }
    for (const auto& [p, rate] : node.load) value["load"][std::to_string(p)] = rate;
    if (node.joining) value["joining"] = true;
    if (node.leaving) value["leaving"] = true;
    return record(std::move(key), kNodeType, value);
}

OwnershipEvent decode_ownership(const core::RecordView& view) try {
    if (core::is_control_key(view.key) || is_process_key(view.key) || is_edge_lag_key(view.key)) {
        return OwnershipBarrier{};
    }
    const KeyParts key{view.key};
    if (key.count == 4 && key.part[0] == kController) return decode_claim(view, key);
    if (key.count == 3 && key.part[1] == "node") return decode_node(view, key);
    if (key.count == 3 && key.part[1] == "epoch") return decode_epoch(view, key);
    if (key.count == 2) return decode_placement(view, key);
    return unknown(view.key, "a key of no known form");
} catch (const Json::exception&) {
    return unknown(view.key, "a field of another type");  // value() throws on a mistyped member
}

}  // namespace beckon::cluster
