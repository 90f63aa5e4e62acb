#include "retry/node/webhook_view.hpp"

#include "core/logger.hpp"
#include "core/partition.hpp"

#include <utility>
#include <vector>

namespace beckon::retry {

using core::Fault;
using log::Topic;

namespace {

constexpr std::size_t kTakeMax = 256;
constexpr core::Duration kAskAgain = std::chrono::seconds{1};

}  // namespace

struct WebhookView::Impl : std::enable_shared_from_this<Impl> {
    Impl(core::NodeId n, WebhookDirectory& d, log::EventLog& l, log::Publisher& p,
         core::Executor& x, const core::Clock& c, std::function<void()> done)
        : node(std::move(n)),
          directory(d),
          log(l),
          publisher(p),
          executor(x),
          clock(c),
          told(std::move(done)) {}

    struct Input {
        std::unique_ptr<log::PartitionReader> reader;
        std::unique_ptr<fold::Marker> marker;
        bool caught_up = false;
    };

    const core::NodeId node;
    WebhookDirectory& directory;
    log::EventLog& log;
    log::Publisher& publisher;
    core::Executor& executor;
    const core::Clock& clock;
    const std::function<void()> told;
    std::vector<Input> inputs;
    std::size_t left = 0;  ///< inputs that have not caught up

    void open(core::Partition partition);
    void read(std::size_t input);
    void ask(std::size_t input);
};

void WebhookView::Impl::open(core::Partition partition) {
    const auto index = static_cast<std::size_t>(partition);
    const log::TopicPartition where{Topic::kWebhooks, partition};
    inputs[index].marker = std::make_unique<fold::Marker>(where, node, publisher, executor);
    inputs[index].reader = log.open_reader(where, 0, executor, [weak = weak_from_this(), index] {
        if (const auto self = weak.lock()) self->read(index);
    });
    ask(index);
}

void WebhookView::Impl::read(std::size_t index) {
    while (index < inputs.size() && inputs[index].reader) {
        auto& input = inputs[index];
        const auto taken =
            input.reader->take(kTakeMax, [this](const auto& record) { directory.apply(record); });
        if (!taken) {
            if (taken.error().fault == Fault::unavailable) return;  // `ready` comes
            core::log_error("retry", "webhooks_not_read",
                            {{"partition", index}, {"why", taken.error().message}});
            input.reader.reset();
            return;
        }
        input.marker->passed(input.reader->position());
        if (taken->drained) return;
    }
}

void WebhookView::Impl::ask(std::size_t index) {
    inputs[index].marker->ask([weak = weak_from_this(), index](const core::Result<void>& passed) {
        const auto self = weak.lock();
        if (!self || index >= self->inputs.size()) return;
        if (!passed) {
            self->executor.post_after(kAskAgain, [weak, index] {
                const auto s = weak.lock();
                if (s && index < s->inputs.size()) s->ask(index);
            });
            return;
        }
        if (std::exchange(self->inputs[index].caught_up, true)) return;
        if (--self->left == 0) self->told();
    });
}

WebhookView::WebhookView(core::Partition partitions, core::NodeId node, WebhookDirectory& directory,
                         log::EventLog& log, log::Publisher& publisher, core::Executor& executor,
                         const core::Clock& clock, std::function<void()> caught_up)
    : impl_(std::make_shared<Impl>(std::move(node), directory, log, publisher, executor, clock,
                                   std::move(caught_up))) {
    impl_->inputs.resize(static_cast<std::size_t>(partitions));
    impl_->left = impl_->inputs.size();
}

WebhookView::~WebhookView() { impl_->inputs.clear(); }

void WebhookView::start() {
    for (std::size_t p = 0; p < impl_->inputs.size(); ++p) {
        impl_->open(static_cast<core::Partition>(p));
    }
}

bool WebhookView::caught_up() const { return impl_->left == 0; }

void WebhookView::confirm(std::string_view webhook, fold::Marker::Answer answer) {
    const auto partitions = static_cast<core::Partition>(impl_->inputs.size());
    const auto index = static_cast<std::size_t>(core::partition_of(webhook, partitions));
    impl_->inputs[index].marker->ask(std::move(answer));
}

}  // namespace beckon::retry
