#include "surface/pages/body_renderer.h"

#include <utility>

namespace sluice::surface {

namespace {

constexpr Millis kComeBack{1'000};
constexpr guard::LaneKind kLane = guard::LaneKind::kFast;

guard::LanesConfig lanes() {
    guard::LanesConfig config;
    config.fast = {BodyRenderer::kAtOnce, BodyRenderer::kQueueTime, BodyRenderer::kPatience};
    config.max_queued = BodyRenderer::kMaxQueued;
    return config;
}

BodyHtml html_of(const BodyRenderer::ToHtml& to_html, const std::string& markdown) {
    return std::make_shared<const io::HttpBody>(to_html(markdown));
}

Task<BodyHtml> render_here(const BodyRenderer::ToHtml& to_html, std::string markdown) {
    co_return html_of(to_html, markdown);
}

// Those that waited for too long may come back, like those whom there was no room for.
Error to_answer(Error reason) {
    if (reason.code != Code::kOverloaded && reason.code != Code::kDeadlineExceeded) {
        return reason;
    }
    return Error{Code::kOverloaded, Blame::kGateway, std::move(reason.message), kComeBack};
}

}  // namespace

BodyRenderer::BodyRenderer(Executor control, Clock& clock,
                           std::function<void(std::exception_ptr)> on_exception, ToHtml to_html)
    : control_(control),
      clock_(clock),
      to_html_(std::move(to_html)),
      tasks_(std::move(control), std::move(on_exception)),
      gate_(lanes(), clock),
      flights_(tasks_, clock, {.max_flights = kAtOnce + kMaxQueued, .max_unattended = kAtOnce}) {}

Task<Result<BodyHtml>> BodyRenderer::html(BodyKey key, std::string markdown) {
    if (BodyHtml known = cache_.find(key)) {
        co_return known;
    }
    if (markdown.size() <= kShort) {
        BodyHtml html = html_of(to_html_, markdown);
        cache_.put(key, html);
        co_return html;
    }
    Task<Result<BodyHtml>> joined = join(key, std::move(markdown));
    Result<BodyHtml> html = co_await run_on(control_, std::move(joined));
    if (!html.ok()) {
        co_return to_answer(html.error());
    }
    co_return html;
}

Task<Result<BodyHtml>> BodyRenderer::join(BodyKey key, std::string markdown) {
    if (BodyHtml known = cache_.find(key)) {  // since it was looked for
        co_return known;
    }
    if (flights_.in_flight(key)) {
        markdown = {};  // whoever began has it, and many may wait
    }
    auto work = [this, key, &markdown](std::shared_ptr<guard::Stake> stake) {
        return render(key, std::move(markdown), std::move(stake));
    };
    co_return co_await flights_.run(key, clock_.now() + kPatience, std::move(work));
}

Task<Result<BodyHtml>> BodyRenderer::render(BodyKey key, std::string markdown,
                                            std::shared_ptr<guard::Stake> stake) {
    CO_TRY(const guard::LaneTicket ticket, co_await gate_.enter(kLane, clock_.now() + kPatience));
    // What has begun is finished, for the next one who asks.
    const guard::Stake::Hold hold(stake.get());
    const auto thread = threads_.try_acquire();
    SLUICE_ASSERT(thread);  // there are as many tickets as threads
    Task<BodyHtml> work = render_here(to_html_, std::move(markdown));
    BodyHtml html = co_await run_on(thread->executor(), std::move(work));
    cache_.put(key, html);
    co_return html;
}

Task<void> BodyRenderer::close() {
    tasks_.close();
    flights_.cancel_all();
    co_await tasks_.join();
}

Task<void> BodyRenderer::stop() {
    Task<void> closed = close();
    co_await run_on(control_, std::move(closed));
}

}  // namespace sluice::surface
