#include "core/logger.hpp"
#include "sim/retry/retry_world.hpp"
#include "sim/shrink.hpp"
#include "sim/sim_world.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <iostream>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <malloc.h>

/// `./dev sim`: runs seeds of the simulation, and shrinks those that fail.
namespace {

using namespace beckon;

constexpr std::string_view kUsage =
    "sim --seeds A[..B] [--world push|retry] [--clocks right|hostile] [--steps I,J,…] [--print]\n"
    "    [--no-shrink] [--quiet]\n"
    "\n"
    "Runs the whole service in one thread, once for each seed from A to B, and fails if what it\n"
    "promises is broken. A seed that fails is shrunk: steps of its story are left out as long as\n"
    "it fails, and the rest is printed.\n"
    "\n"
    "  --world      push (the default): endpoints, edges, clients and senders; retry: "
    "applications,\n"
    "               processes with the role retry, and receivers of webhooks\n"
    "  --clocks     of hosts and brokers; without it every third seed has hostile ones\n"
    "  --steps      plays these steps of the story only, and prints it\n"
    "  --print       prints the story of each seed, and shrinks nothing\n"
    "  --no-shrink  says which seeds fail and no more\n"
    "  --quiet      one line at the end\n";

constexpr std::size_t kShrinkRunsMax = 400;
constexpr std::uint64_t kPrintEvery = 100;

struct Outcome {
    std::vector<std::string> broken;
    std::vector<std::string> diary;
};

/// Plays some steps of the seed's story, or all.
using Play = Outcome (*)(std::uint64_t seed, sim::Clocks clocks, const sim::Kept* kept,
                         bool prints);

/// A kind of simulated world.
struct WorldKind {
    std::string_view name;
    std::size_t (*steps)(std::uint64_t seed, sim::Clocks clocks);
    Play play;
};

struct Options {
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    const WorldKind* world = nullptr;
    std::optional<sim::Clocks> clocks;
    std::optional<sim::Kept> steps;
    bool shrinks = true;
    bool prints = false;
    bool quiet = false;
};

[[noreturn]] void refuse(const std::string& why) {
    std::cerr << "sim: " << why << "\n\n" << kUsage;
    std::exit(2);
}

std::uint64_t number(std::string_view text) {
    std::uint64_t out = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
    if (error != std::errc{} || end != text.data() + text.size()) {
        refuse("'" + std::string{text} + "' is not a number");
    }
    return out;
}

template <class World, auto kStoryOf>
Outcome play(std::uint64_t seed, sim::Clocks clocks, const sim::Kept* kept, bool prints) {
    auto story = kStoryOf(seed, clocks);
    if (kept) {
        decltype(story) some;
        for (const auto i : *kept) {
            if (i >= story.size())
                refuse("the story has " + std::to_string(story.size()) + " steps");
            some.push_back(story[i]);
        }
        story = std::move(some);
    }
    World world{seed, clocks, prints};
    world.live(story);
    return {std::move(world.broken), std::move(world.diary)};
}

template <auto kStoryOf>
std::size_t steps_of(std::uint64_t seed, sim::Clocks clocks) {
    return kStoryOf(seed, clocks).size();
}

constexpr std::array kWorlds = {
    WorldKind{"push", steps_of<sim::story_of>, play<sim::SimWorld, sim::story_of>},
    WorldKind{"retry", steps_of<sim::retry_story_of>, play<sim::RetryWorld, sim::retry_story_of>}};

const WorldKind* read_world(std::string_view text) {
    for (const auto& world : kWorlds) {
        if (world.name == text) return &world;
    }
    refuse("--world is push or retry");
}

void read_seeds(Options& options, std::string_view text) {
    const auto dots = text.find("..");
    options.first = number(text.substr(0, dots));
    options.last = dots == std::string_view::npos ? options.first : number(text.substr(dots + 2));
    if (options.last < options.first) refuse("--seeds A..B: B is at least A");
}

sim::Kept read_steps(std::string_view text) {
    sim::Kept steps;
    while (!text.empty()) {
        const auto comma = std::min(text.find(','), text.size());
        steps.push_back(number(text.substr(0, comma)));
        text.remove_prefix(std::min(comma + 1, text.size()));
    }
    return steps;
}

sim::Clocks read_clocks(std::string_view text) {
    if (text == "right") return sim::Clocks::right;
    if (text == "hostile") return sim::Clocks::hostile;
    refuse("--clocks is right or hostile");
}

Options read(const std::vector<std::string_view>& words) {
    Options options;
    options.world = &kWorlds.front();
    bool seeds = false;
    for (std::size_t i = 0; i < words.size(); ++i) {
        const auto value = [&] {
            if (i + 1 == words.size()) refuse(std::string{words[i]} + " needs a value");
            return words[++i];
        };
        if (words[i] == "--seeds") {
            read_seeds(options, value());
            seeds = true;
        } else if (words[i] == "--world") {
            options.world = read_world(value());
        } else if (words[i] == "--clocks") {
            options.clocks = read_clocks(value());
        } else if (words[i] == "--steps") {
            options.steps = read_steps(value());
        } else if (words[i] == "--print") {
            options.prints = true;
        } else if (words[i] == "--no-shrink") {
            options.shrinks = false;
        } else if (words[i] == "--quiet") {
            options.quiet = true;
        } else {
            refuse("'" + std::string{words[i]} + "' is no option");
        }
    }
    if (!seeds) refuse("--seeds is missing");
    return options;
}

sim::Clocks clocks_of(const Options& options, std::uint64_t seed) {
    if (options.clocks) return *options.clocks;
    return seed % 3 == 2 ? sim::Clocks::hostile : sim::Clocks::right;
}

void report(const WorldKind& world, std::uint64_t seed, sim::Clocks clocks, const sim::Kept* kept) {
    const auto outcome = world.play(seed, clocks, kept, true);
    for (const auto& line : outcome.diary) std::cout << line << "\n";
}

void shrink_and_print(const WorldKind& world, std::uint64_t seed, sim::Clocks clocks) {
    sim::Kept all(world.steps(seed, clocks));
    std::iota(all.begin(), all.end(), std::size_t{0});
    const auto steps = all.size();
    const auto shrunk = sim::shrink(
        std::move(all),
        [&](const sim::Kept& kept) {
            return !world.play(seed, clocks, &kept, false).broken.empty();
        },
        kShrinkRunsMax);
    std::cout << "  " << shrunk.kept.size() << " of " << steps << " steps are enough ("
              << shrunk.runs << " runs):\n";
    report(world, seed, clocks, &shrunk.kept);
    std::cout << "  again: ./dev sim --world " << world.name << " --seeds " << seed << " --clocks "
              << (clocks == sim::Clocks::hostile ? "hostile" : "right") << " --steps ";
    for (std::size_t i = 0; i < shrunk.kept.size(); ++i) {
        std::cout << (i > 0 ? "," : "") << shrunk.kept[i];
    }
    std::cout << std::endl;
}

/// True: nothing is broken.
bool run(const Options& options, std::uint64_t seed) {
    const auto clocks = clocks_of(options, seed);
    const auto& world = *options.world;
    const auto* steps = options.steps ? &*options.steps : nullptr;
    const auto outcome = world.play(seed, clocks, steps, false);
    const bool prints = options.prints || steps;
    if (prints) report(world, seed, clocks, steps);
    if (outcome.broken.empty()) return true;
    std::cout << "seed " << seed << " is broken:\n";
    for (const auto& what : outcome.broken) std::cout << "  " << what << "\n";
    std::cout << std::flush;
    if (options.shrinks && !prints) shrink_and_print(world, seed, clocks);
    return false;
}

/// Worlds come and go: memory that one gave back is for the next.
void keep_memory() {
    constexpr int kKeptBytes = 512 << 20;
    mallopt(M_TRIM_THRESHOLD, kKeptBytes);
    mallopt(M_MMAP_THRESHOLD, kKeptBytes);
}

}  // namespace

int main(int count, char** words) {
    keep_memory();
    const auto options = read({words + 1, words + count});
    core::configure_logging(core::LogLevel::error, core::LogFormat::text);
    std::vector<std::uint64_t> failed;
    for (auto seed = options.first; seed <= options.last; ++seed) {
        if (!run(options, seed)) failed.push_back(seed);
        if (!options.quiet && (seed - options.first + 1) % kPrintEvery == 0) {
            std::cout << seed - options.first + 1 << " seeds, " << failed.size() << " broken"
                      << std::endl;
        }
    }
    std::cout << options.last - options.first + 1 << " seeds, " << failed.size() << " broken";
    for (const auto seed : failed) std::cout << " " << seed;
    std::cout << std::endl;
    return failed.empty() ? 0 : 1;
}
