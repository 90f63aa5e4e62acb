#include "retry/api/api.hpp"

#include "core/contain.hpp"
#include "core/json_member.hpp"
#include "core/json_parts.hpp"
#include "core/json_text.hpp"
#include "core/lifetime.hpp"
#include "core/logger.hpp"
#include "core/token_buckets.hpp"
#include "net/http/http_message.hpp"
#include "retry/api/attempt_pages.hpp"
#include "retry/api/dead_api.hpp"
#include "retry/api/event_api.hpp"
#include "retry/api/list_query.hpp"
#include "retry/api/owner_token.hpp"
#include "retry/api/problem.hpp"
#include "retry/api/route.hpp"
#include "retry/api/webhook_body.hpp"
#include "retry/event/event.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace beckon::retry {

using core::Fault;
using Verb = net::Method;
using Json = nlohmann::json;

namespace {

constexpr std::string_view kTestType = "beckon.webhook.test";
/// The cost of a change of a webhook's state, as `changes` counts.
constexpr std::size_t kMemoryOfState = 1'024;
/// In so long an owner that has changed as much as it may can change as much again.
constexpr std::chrono::seconds kChangesRefill{60};
/// A page of webhooks ends after so many bytes: a filter alone may have 256 KiB.
constexpr std::size_t kListBytes = std::size_t{128} << 10;

/// One request's reply, given once. If the code that should have given it threw, the request is
/// answered with 500 when the last holder is destroyed; not after the Api has ended.
class PendingReply {
public:
    PendingReply(Api::Reply reply, core::Lifetime::Term api)
        : reply_(std::move(reply)), api_(std::move(api)) {}
    ~PendingReply() {
        if (given_ || api_.over()) return;
        core::contain("retry", [this] { reply_(thrown_reply()); });
    }
    PendingReply(const PendingReply&) = delete;
    PendingReply& operator=(const PendingReply&) = delete;

    void give(net::HttpReply reply) {
        if (!std::exchange(given_, true)) reply_(std::move(reply));
    }

private:
    const Api::Reply reply_;
    const core::Lifetime::Term api_;
    bool given_ = false;
};

using Written = std::function<void(const core::Result<void>&)>;

/// Takes what the log has answered: replies with its fault, or goes on with `then`.
template <class F>
Written when_written(Api::Reply reply, F then) {
    return [reply = std::move(reply), then = std::move(then)](const core::Result<void>& written) {
        written ? then() : reply(failure_reply(written.error()));
    };
}

bool changes_webhook(Route route, Verb method) {
    if (route == Route::webhook) return method == Verb::patch || method == Verb::del;
    return route == Route::enable || route == Route::disable || route == Route::secret;
}

/// The cost of a change, as `changes` counts; that of a PATCH is known when it is made.
std::optional<std::size_t> memory_of_change(Route route, const WebhookDirectory::Entry& entry) {
    if (route == Route::enable || route == Route::disable) return kMemoryOfState;
    if (route == Route::secret) return entry.memory_bytes;
    return std::nullopt;
}

Event test_event(const Webhook& webhook) {
    const Json event{{"specversion", "1.0"},      {"id", core::to_hex(core::random_uuid4())},
                     {"source", "/beckon/retry"}, {"type", kTestType},
                     {"subject", webhook.id},     {"data", {{"webhook", webhook.id}}}};
    return {.source = event["source"],
            .id = event["id"],
            .type = event["type"],
            .json = core::json_text(event)};
}

}  // namespace

struct Api::Impl {
    Impl(Options o, RetryNode& n, const core::Clock& c, std::shared_ptr<const core::KeyRing> k)
        : options(std::move(o)),
          node(n),
          clock(c),
          keys(std::move(k)),
          dead(node),
          events(options, node, clock),
          changes({.at_once = options.memory.per_owner,
                   .each = core::Duration{kChangesRefill} / options.memory.per_owner}) {}

    const Options options;
    RetryNode& node;
    const core::Clock& clock;
    const std::shared_ptr<const core::KeyRing> keys;
    DeadApi dead;
    EventApi events;
    /// Bytes of webhooks that an owner may change. A change is folded on each thread for
    /// deliveries, outside of its owner's turns there: it costs the memory of the webhook, since
    /// its filter is compiled and indexed in time that grows with that.
    core::TokenBuckets<std::string> changes;
    std::map<std::string, Usage> being_made;  ///< webhooks by owner that are not folded yet
    Usage all_being_made;
    core::Lifetime lifetime;

    /// A page of a list of webhooks.
    struct Listed {
        std::vector<std::string> texts;
        std::optional<std::string> next;  ///< for `after` of the next page
    };

    /// What `text_of` makes of the caller's webhooks, or of all for an operator, as one turn may
    /// make.
    Listed list_of(
        const Caller& caller, const ListPage& page,
        const std::function<std::string(const WebhookDirectory::Entry&)>& text_of) const {
        Listed out;
        std::string last;
        std::size_t bytes = 0;
        const auto add = [&](const WebhookDirectory::Entry& entry) {
            if (out.texts.size() == page.limit || bytes >= kListBytes) {
                out.next = last;
                return false;
            }
            bytes += out.texts.emplace_back(text_of(entry)).size();
            last = entry.webhook.id;
            return true;
        };
        const auto& webhooks = node.webhooks();
        caller.operates ? webhooks.each(page.after, add)
                        : webhooks.each_of(caller.owner, page.after, add);
        return out;
    }

    void list(const Caller& caller, const ListPage& page, const Reply& reply) const {
        auto listed = list_of(caller, page, webhook_page);
        reply(json_reply(200, webhooks_page({.webhooks = std::move(listed.texts),
                                             .next = std::move(listed.next),
                                             .usage = caller.operates ? std::nullopt
                                                                      : std::optional{node.usage_of(
                                                                            caller.owner)}})));
    }

    void create(const ApiRequest& request, const Caller& caller, const Reply& reply) {
        const auto there = usage_of(caller.owner).webhooks;
        if (there >= options.webhooks_per_owner_max) {
            return reply(problem_reply(Problem::limit, "the owner has " + std::to_string(there) +
                                                           " webhooks, which is the most"));
        }
        Webhook webhook;
        webhook.id = core::to_hex(core::random_uuid4());
        webhook.owner = caller.owner;
        webhook.created = clock.wall();
        if (const auto taken = change(webhook, request.body, options.guard); !taken) {
            return reply(failure_reply(taken.error()));
        }
        if (webhook.secrets.empty()) webhook.secrets = {random_secret()};
        const auto secret = secret_text(webhook.secrets.front());
        const auto made_known = [this, id = webhook.id, secret, reply] {
            const auto* entry = node.webhooks().find(id);
            if (!entry) return reply(problem_reply(Problem::not_found, "it was deleted meanwhile"));
            // Now, and never again.
            auto made = json_reply(201, core::with_json_member(webhook_page(*entry), "secret",
                                                               core::json_string(secret)));
            made.add("Location", "/webhooks/" + id);
            made.add("Cache-Control", "no-store");
            reply(std::move(made));
        };
        put_webhook(webhook, when_written(reply, made_known), reply);
    }

    /// The owner's webhooks, with those that are being made.
    Usage usage_of(const std::string& owner) const {
        auto held = node.webhooks().usage_of(owner);
        if (const auto waiting = being_made.find(owner); waiting != being_made.end()) {
            held += waiting->second;
        }
        return held;
    }

    /// Whether there is space for a webhook, in place of the one with its id.
    core::Result<void> check_memory(const Webhook& webhook, std::size_t bytes) const {
        const auto& webhooks = node.webhooks();
        const auto* before = webhooks.find(webhook.id);
        const auto freed = before ? before->memory_bytes : 0;
        const auto owners = usage_of(webhook.owner).bytes - freed + bytes;
        if (bytes > freed && owners > options.memory.per_owner) {
            return core::fail(Fault::full, "the webhook would hold " + std::to_string(bytes) +
                                               " bytes of memory and the owner's together " +
                                               std::to_string(owners) + ", of which it may have " +
                                               std::to_string(options.memory.per_owner) +
                                               "; a filter holds the most");
        }
        const auto all = webhooks.memory_bytes() + all_being_made.bytes - freed + bytes;
        if (bytes > freed && all > options.memory.in_all) {
            return core::fail(Fault::full,
                              "the webhooks of all owners hold so much memory that there "
                              "is no space for this one (" +
                                  std::to_string(options.memory.in_all) + " bytes)");
        }
        return {};
    }

    /// Whether the owner may change webhooks that hold so much memory; if not, it is answered.
    bool may_change(const std::string& owner, std::size_t bytes, const Reply& reply) {
        const auto now = clock.mono();
        const auto wait = changes.wait(owner, now, bytes);
        if (!wait) {
            changes.take(owner, now, bytes);
            return true;
        }
        reply(problem_reply(
            Problem::too_many_requests,
            "the owner has changed so many webhooks, or such large filters, that this "
            "change must wait: in a minute webhooks of " +
                std::to_string(options.memory.per_owner) +
                " bytes together may change (memory_bytes of each)",
            std::chrono::ceil<std::chrono::seconds>(*wait)));
        return false;
    }

    /// Writes a webhook that is new or has changed, if there is space for it.
    void put_webhook(const Webhook& webhook, Written done, const Reply& reply) {
        const auto entry = filter_entry(webhook, Query::From::log);
        if (!entry)
            return reply(problem_reply(Problem::invalid, "$.filter: " + entry.error().message));
        const bool is_new = node.webhooks().find(webhook.id) == nullptr;
        const Usage usage{.webhooks = is_new ? std::size_t{1} : 0,
                          .bytes = memory_of(webhook, *entry)};
        if (const auto capacity = check_memory(webhook, usage.bytes); !capacity) {
            return reply(problem_reply(Problem::limit, capacity.error().message));
        }
        if (!may_change(webhook.owner, usage.bytes, reply)) return;
        being_made[webhook.owner] += usage;
        all_being_made += usage;
        node.put_webhook(webhook, [this, owner = webhook.owner, usage,
                                   done = std::move(done)](const core::Result<void>& written) {
            all_being_made -= usage;
            auto& waiting = being_made[owner];
            waiting -= usage;
            if (waiting == Usage{}) being_made.erase(owner);
            done(written);
        });
    }

    /// Answers a request that changes a webhook, once the changes before it have been answered: so
    /// it reads what they have left. Meanwhile it keeps its place in the RequestQueue, which its
    /// reply holds: that bounds how many of an owner's changes wait, and their bodies. The
    /// RequestQueue does not count the time that a change takes which has waited; so the body of a
    /// PATCH that must wait takes of the owner's quota, whatever becomes of the change.
    void change_in_turn(const ApiRequest& request, const Path& path, const std::string& owner,
                        const Reply& reply) {
        auto& turns = node.change_turns();
        const bool patch = request.method == Verb::patch;
        if (patch && turns.must_wait(path.id) && !may_change(owner, request.body.size(), reply))
            return;
        ApiRequest waiting;  // what of_webhook() reads of a request
        waiting.method = request.method;
        waiting.body = request.body;
        const auto until = clock.mono() + options.wait_max;
        auto in_turn = [this, waiting = std::move(waiting), path, owner, until,
                        reply](const ChangeTurns::Turn& turn) {
            const auto answer = [reply, turn](net::HttpReply given) { reply(std::move(given)); };
            if (clock.mono() > until) {  // its caller may be gone
                return answer(problem_reply(Problem::not_saved,
                                            "earlier changes of this webhook took so long that "
                                            "this one was not made"));
            }
            const auto* entry = find_for(owner, path.id, answer);
            if (entry) of_webhook(waiting, path.route, *entry, answer);
        };
        turns.take(path.id, lifetime.guard(std::move(in_turn)));
    }

    /// The owner's webhook; null: it is answered.
    const WebhookDirectory::Entry* find_for(const std::string& owner, const std::string& id,
                                            const Reply& reply) const {
        if (!node.knows_webhooks()) {
            reply(problem_reply(Problem::not_ready, "the webhooks are still being read"));
            return nullptr;
        }
        const auto* entry = node.webhooks().find(id);
        if (entry && entry->webhook.owner == owner) return entry;
        reply(problem_reply(Problem::not_found, "there is no such webhook of this owner"));
        return nullptr;
    }

    void of_webhook(const ApiRequest& request, Route route, const WebhookDirectory::Entry& entry,
                    const Reply& reply) {
        const auto& webhook = entry.webhook;
        switch (route) {
            case Route::webhook:
                if (request.method == Verb::patch) return change_webhook(request, webhook, reply);
                if (request.method == Verb::del) return remove(webhook.id, reply);
                return show(webhook.id, 200, reply);
            case Route::enable: return enable(webhook.id, reply);
            case Route::disable: return disable(webhook.id, request, reply);
            case Route::secret: return rotate(request, webhook, reply);
            case Route::test: return send_test(webhook, reply);
            case Route::attempts: return show_attempts(webhook.id, reply);
            default: break;  // of no webhook: handle() has served it
        }
    }

    void change_webhook(const ApiRequest& request, const Webhook& before, const Reply& reply) {
        auto webhook = before;
        if (const auto taken = change(webhook, request.body, options.guard); !taken) {
            return reply(failure_reply(taken.error()));
        }
        if (webhook == before) return show(before.id, 200, reply);
        put_webhook(webhook, then_show(webhook.id, reply), reply);
    }

    void remove(const std::string& id, const Reply& reply) {
        node.remove_webhook(id, when_written(reply, [reply] {
                                reply(net::HttpReply{.status = 204, .headers = {}, .body = {}});
                            }));
    }

    void enable(const std::string& id, const Reply& reply) {
        node.put_state(id, WebhookState{.enabled = true, .reason = {}, .enabled_now = true},
                       then_show(id, reply));
    }

    /// `{"by": "operator"}` says who does it: the console acts with a token of the owner.
    void disable(const std::string& id, const ApiRequest& request, const Reply& reply) {
        const auto body = request.body.empty() ? Json::object() : core::parse_json(request.body);
        const bool by_operator = core::text_member(body, "by") == "operator";
        const auto why = by_operator ? kDisabledByOperator : kDisabledByOwner;
        node.put_state(id, WebhookState{.enabled = false, .reason = std::string{why}},
                       then_show(id, reply));
    }

    /// The former secret signs too, until the next rotation: receivers change when they can. With
    /// `{"keep": false}` it ends at once.
    void rotate(const ApiRequest& request, const Webhook& before, const Reply& reply) {
        const auto body = request.body.empty() ? Json::object() : core::parse_json(request.body);
        if (!body.is_object() || body.size() != body.count("keep") + body.count("secret")) {
            return reply(problem_reply(
                Problem::invalid, "$ must be an object with nothing but \"secret\" and \"keep\""));
        }
        if (!body.value("keep", Json(true)).is_boolean()) {
            return reply(problem_reply(Problem::invalid, "$.keep must be true or false"));
        }
        const auto given = body.value("secret", Json(secret_text(random_secret())));
        const auto secret = parse_secret(given.is_string() ? given.get<std::string>() : "");
        if (!secret) {
            return reply(problem_reply(Problem::invalid, "$.secret: " + secret.error().message));
        }
        auto webhook = before;
        if (webhook.secrets.size() > 1) webhook.secrets.resize(1);
        if (!body.value("keep", true)) webhook.secrets.clear();
        webhook.secrets.insert(webhook.secrets.begin(), *secret);
        const auto page =
            Json{{"secret", secret_text(*secret)}, {"secrets", webhook.secrets.size()}};
        node.put_webhook(webhook, when_written(reply, [reply, text = core::json_text(page)] {
                             auto made = json_reply(200, text);
                             made.add("Cache-Control", "no-store");
                             reply(std::move(made));
                         }));
    }

    void send_test(const Webhook& webhook, const Reply& reply) {
        const auto event = test_event(webhook);
        const Delivery delivery{.id = delivery_id(event.source, event.id, webhook.id),
                                .webhook = webhook.id,
                                .event = event.json};
        const auto page = core::json_text(Json{{"delivery", delivery.id}});
        node.deliver(delivery,
                     when_written(reply, [reply, page] { reply(json_reply(202, page)); }));
    }

    void show_attempts(const std::string& id, const Reply& reply) const {
        if (!node.serves(id)) {
            return reply(
                problem_reply(Problem::served_elsewhere,
                              "the attempts of this webhook are made by another node, or by "
                              "none at present; ask the others"));
        }
        node.attempts_of(
            id, [reply](const auto& attempts) { reply(json_reply(200, attempts_page(attempts))); });
    }

    /// Of the webhooks that this process serves: callers that want all of them ask every process.
    void show_all_attempts(const Caller& caller, const ListPage& page, const Reply& reply) const {
        const auto listed =
            list_of(caller, page, [](const auto& entry) { return entry.webhook.id; });
        node.summaries_of(listed.texts, [reply, next = listed.next](const auto& summaries) {
            Json list = Json::array();
            for (const auto& [id, summary] : summaries) list.push_back(summary_json(id, summary));
            reply(json_reply(200, core::json_text(Json{{"webhooks", std::move(list)},
                                                       {"next", next ? Json(*next) : Json()}})));
        });
    }

    void show(const std::string& id, int status, const Reply& reply) const {
        const auto* entry = node.webhooks().find(id);
        if (!entry) return reply(problem_reply(Problem::not_found, "it was deleted meanwhile"));
        reply(json_reply(status, webhook_page(*entry)));
    }

    Written then_show(const std::string& id, const Reply& reply) {
        return when_written(reply, [this, id, reply] { show(id, 200, reply); });
    }

    void handle(const ApiRequest& request, const Reply& reply) {
        const auto path = parse_path(request.target);
        if (path.route == Route::unknown) {
            return reply(problem_reply(Problem::unknown_route,
                                       "there is nothing at this path: /webhooks, /attempts, "
                                       "/events and /dead are"));
        }
        if (path.route == Route::openapi && request.method == Verb::get) {
            return reply(net::api_document_reply(net::webhooks_api_document()));
        }
        const auto caller = caller_of(*keys, request.authorization);
        if (!caller && caller.error().fault == Fault::not_found) options.key_missing();
        if (!caller) {
            auto refused = problem_reply(Problem::unauthorized, caller.error().message);
            refused.add("Connection", "close");  // its next requests keep no connection busy
            return reply(std::move(refused));
        }
        const bool of_dead = path.of_dead_letters();
        const bool of_lists = path.route == Route::all_attempts ||
                              (path.route == Route::webhooks && request.method == Verb::get);
        if (caller->operates && !of_dead && !of_lists) {
            return reply(problem_reply(Problem::forbidden,
                                       "the token of an operator is for /dead, /attempts and GET "
                                       "/webhooks alone"));
        }
        if (!path.allows(request.method)) return reply(wrong_method(path.methods));
        if (request.body_too_large) {
            return reply(
                problem_reply(Problem::too_large,
                              "a body may have " + std::to_string(kEventBytesMax) + " bytes"));
        }
        if (path.route == Route::events) return events.post(request, *caller, reply);
        if (!node.knows_webhooks()) {
            return reply(problem_reply(Problem::not_ready, "the webhooks are still being read"));
        }
        if (of_dead) return dead.handle(request, path, *caller, reply);
        if (of_lists) {
            const auto page = parse_list_page(net::split_target(request.target).query);
            if (!page) return reply(failure_reply(page.error()));
            if (path.route == Route::webhooks) return list(*caller, *page, reply);
            return show_all_attempts(*caller, *page, reply);
        }
        if (path.route == Route::webhooks) return create(request, *caller, reply);
        const auto* entry = find_for(caller->owner, path.id, reply);
        if (!entry) return;
        if (!changes_webhook(path.route, request.method)) {
            return of_webhook(request, path.route, *entry, reply);
        }
        const auto changed = memory_of_change(path.route, *entry);
        if (changed && !may_change(caller->owner, *changed, reply)) return;
        change_in_turn(request, path, caller->owner, reply);
    }
};

Api::Api(Options options, RetryNode& node, const core::Clock& clock,
         std::shared_ptr<const core::KeyRing> keys)
    : impl_(std::make_unique<Impl>(std::move(options), node, clock, std::move(keys))) {}

Api::~Api() = default;

void Api::handle(const ApiRequest& request, const Reply& reply) {
    const auto pending = std::make_shared<PendingReply>(reply, impl_->lifetime.term());
    core::contain("retry", [&] {
        impl_->handle(request,
                      [pending](net::HttpReply answer) { pending->give(std::move(answer)); });
    });
}

}  // namespace beckon::retry
