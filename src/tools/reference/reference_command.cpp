#include "app/command_line.hpp"
#include "app/config/config.hpp"
#include "app/process/version.hpp"
#include "tools/commands.hpp"

#include <functional>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

namespace beckon::tools {

namespace {

/// Options that stand for settings are in groups of this name, and hidden ones in none.
constexpr std::string_view kSettings = "Settings";

using Visit = std::function<void(const CLI::App& command, const std::string& path)>;

/// Every command that is shown, from the top on, as it is typed ("keys rotate"; the top: "").
void visit_commands(const CLI::App& command, const std::string& path, const Visit& visit) {
    visit(command, path);
    for (const auto* below : command.get_subcommands([](const CLI::App*) { return true; })) {
        if (below->get_group().empty()) continue;
        const auto& name = below->get_name();
        visit_commands(*below, path.empty() ? name : path + " " + name, visit);
    }
}

bool is_setting(const CLI::Option& option) { return option.get_group().starts_with(kSettings); }

std::vector<const CLI::Option*> options_of(const CLI::App& command, bool settings) {
    std::vector<const CLI::Option*> out;
    for (const auto* option : command.get_options()) {
        if (option->get_group().empty() || option->get_name() == "--help") continue;
        if (is_setting(*option) == settings) out.push_back(option);
    }
    return out;
}

/// troff takes '\', '-' and lines that begin with '.' or ''' for its own.
std::string troff(std::string_view text) {
    std::string out;
    for (const char c : text) {
        const bool at_start = out.empty() || out.back() == '\n';
        if (at_start && (c == '.' || c == '\'')) out += "\\&";
        if (c == '\\') {
            out += "\\e";
        } else if (c == '-') {
            out += "\\-";
        } else {
            out.push_back(c);
        }
    }
    return out;
}

std::string value_of(const CLI::Option& option) {
    return option.get_items_expected_max() == 0 || option.get_type_name().empty()
               ? ""
               : " " + option.get_type_name();
}

std::string option_troff(const CLI::Option& option) {
    return ".TP\n\\fB" + troff(option.get_name(option.get_positional())) + "\\fR" +
           troff(value_of(option)) + "\n" + troff(option.get_description()) + "\n";
}

std::string command_troff(const CLI::App& command, const std::string& path) {
    auto out = ".SS beckon " + troff(path) + "\n" + troff(command.get_description()) + "\n";
    for (const auto* option : options_of(command, false)) out += option_troff(*option);
    return out;
}

std::string settings_troff() {
    std::string out =
        ".SH SETTINGS\nAs flags, in the environment (BECKON_EDGE_PORT is edge.port), "
        "or in a TOML file that \\-\\-config names. Each command's \\-\\-help lists "
        "those that have an effect for it.\n";
    app::Config defaults = app::defaults_of(app::Reader::any);
    for (const auto& setting : app::settings_of(defaults)) {
        const auto value = setting.get();
        out += ".TP\n\\fB" + troff(app::flag_of(setting)) + "\\fR " + troff(setting.name) +
               (value.empty() ? "" : " [" + troff(value) + "]") + "\n" + troff(setting.help) + "\n";
    }
    return out;
}

/// For a string in single quotes of a shell.
std::string quoted(const std::string& text) {
    std::string out = "'";
    for (const char c : text) out += c == '\'' ? std::string{"'\\''"} : std::string(1, c);
    return out + "'";
}

void append_word(std::string& list, const std::string& word) {
    list += (list.empty() ? "" : " ") + word;
}

/// The commands and options that may follow; positional arguments are files, or nothing to guess.
std::string words_after(const CLI::App& command) {
    std::string words;
    for (const auto* below : command.get_subcommands([](const CLI::App*) { return true; })) {
        if (!below->get_group().empty()) append_word(words, below->get_name());
    }
    for (const auto* option : command.get_options()) {
        if (option->get_group().empty() || option->get_positional()) continue;
        for (const auto& name : option->get_lnames()) append_word(words, "--" + name);
    }
    return words;
}

/// beckon(1), in troff.
std::string man_page(const CLI::App& top, const std::string& version) {
    std::string out = ".TH BECKON 1 \"\" \"Beckon " + troff(version) +
                      "\" \"User Commands\"\n.SH NAME\nbeckon \\- an event\\-sourced Web Push "
                      "service\n.SH SYNOPSIS\n\\fBbeckon\\fR \\fICOMMAND\\fR [\\fIOPTION\\fR ...]\n"
                      ".SH DESCRIPTION\n" +
                      troff(top.get_description()) + "\n.SH COMMANDS\n";
    visit_commands(top, "", [&out](const CLI::App& command, const std::string& path) {
        if (!path.empty()) out += command_troff(command, path);
    });
    return out + settings_troff() +
           ".SH EXIT STATUS\n0: done. 1: failed. 2: the command line or the configuration is "
           "wrong. "
           "3: nothing was found (message, replay). 128 + N: ended by signal N.\n"
           ".SH FILES\n/etc/beckon/beckon.toml, /var/lib/beckon: used by the systemd unit.\n";
}

/// A script for bash: commands, their options, and the values of those with a list of them.
std::string bash_completion(const CLI::App& top) {
    std::string out =
        "# bash completion for beckon; made by `beckon reference bash`\n"
        "declare -A _beckon_words=(\n";
    visit_commands(top, "", [&out](const CLI::App& command, const std::string& path) {
        out += "    [" + quoted("beckon" + (path.empty() ? "" : " " + path)) +
               "]=" + quoted(words_after(command)) + "\n";
    });
    return out +
           ")\n"
           "_beckon() {\n"
           "    local current=${COMP_WORDS[COMP_CWORD]} path=beckon word\n"
           "    for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
           "        [[ -v _beckon_words[\"$path $word\"] ]] && path=\"$path $word\"\n"
           "    done\n"
           "    COMPREPLY=($(compgen -W \"${_beckon_words[$path]}\" -- \"$current\"))\n"
           "}\n"
           "complete -o default -F _beckon beckon\n";
}

}  // namespace

void add_reference_command(app::CommandLine& line) {
    auto& group =
        line.add_group("reference", "The files that a package installs beside the binary");
    group.group("");
    line.add(group, "man", "beckon(1)", [&line] {
        std::cout << man_page(line.top(), app::version_text());
        return 0;
    });
    line.add(group, "bash", "Completion for bash", [&line] {
        std::cout << bash_completion(line.top());
        return 0;
    });
}

}  // namespace beckon::tools
