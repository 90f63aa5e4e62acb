#include "app/config/config_values.hpp"

#include <algorithm>

namespace beckon::app {

namespace {

constexpr std::string_view kFileSuffix = ".file";

void pass_through(const RawValue& value, Config& config, Sources& sources,
                  std::vector<ConfigFault>& faults) {
    auto name = value.name.substr(kPassThrough.size());
    auto text = value.value;
    config.kafka.librdkafka_files.erase(name);
    if (name.ends_with(kFileSuffix)) {
        name.resize(name.size() - kFileSuffix.size());
        const auto read = log::read_option_file(value.value);
        if (!read) {
            faults.push_back({value.where, value.name + ": " + read.error().message});
            return;
        }
        text = *read;
        config.kafka.librdkafka_files[name] = value.value;
    }
    config.kafka.librdkafka[name] = text;
    sources[std::string{kPassThrough} + name] = value.where;
}

std::vector<std::string> names_of(const std::vector<Setting>& settings) {
    std::vector<std::string> names;
    names.reserve(settings.size());
    for (const auto& setting : settings) names.push_back(setting.name);
    return names;
}

}  // namespace

std::string unknown_name(const std::string& name, const std::vector<std::string>& known) {
    const auto is_in_it = [&](const auto& one) { return one.starts_with(name + "."); };
    if (std::ranges::any_of(known, is_in_it)) {
        return "'" + name + "' is a table of options, [" + name + "], and has no value of its own";
    }
    return "unknown option '" + name + "'" + did_you_mean(name, known);
}

std::vector<ConfigFault> apply(const std::vector<RawValue>& values, Config& config,
                               Sources& sources, Reader reader) {
    const auto settings = settings_of(config);
    const auto known = names_of(settings);
    std::vector<ConfigFault> faults;
    for (const auto& value : values) {
        if (value.name.starts_with(kPassThrough)) {
            pass_through(value, config, sources, faults);
            continue;
        }
        const auto setting =
            std::ranges::find_if(settings, [&](const auto& s) { return s.name == value.name; });
        if (setting == settings.end()) {
            faults.push_back({value.where, unknown_name(value.name, known)});
            continue;
        }
        if (const auto done = setting->set(value.value); !done) {
            faults.push_back({value.where, setting->name + " = '" + value.value +
                                               "': " + done.error().message +
                                               " (allowed: " + setting->allowed + ")"});
            continue;
        }
        sources[setting->name] = value.where;
    }
    const auto more = faults_of(config, reader);
    faults.insert(faults.end(), more.begin(), more.end());
    return faults;
}

}  // namespace beckon::app
