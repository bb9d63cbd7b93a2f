#include "obs/metrics.h"

#include "base/result.h"

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <mutex>
#include <utility>

namespace sluice::obs {
namespace {

// Labels hold configured names and enumerators, so this is far above what a sound configuration
// needs; it keeps a mistake from filling the memory and the monitoring system.
constexpr std::size_t kMaxLabelSets = 1000;
constexpr const char* kOtherLabel = "_other";

prometheus::Labels to_labels(const MetricSpec& spec, const std::vector<std::string>& values) {
    prometheus::Labels labels;
    for (std::size_t i = 0; i < values.size(); ++i) {
        labels.emplace(spec.labels[i], values[i]);
    }
    return labels;
}

// One metric with its label sets. Handles stay valid: the family owns what it points to and nothing
// is ever removed.
template <class Metric>
class CappedFamily {
 public:
    CappedFamily(const MetricSpec& spec, prometheus::Family<Metric>& family)
        : labels_(spec.labels), family_(family) {}

    template <class... Args>
    Metric* get(const MetricSpec& spec, const std::vector<std::string>& values,
                const Args&... args) {
        SLUICE_ASSERT(spec.labels == labels_);
        SLUICE_ASSERT(values.size() == labels_.size());
        if (const auto known = sets_.find(values); known != sets_.end()) {
            return known->second;
        }
        if (sets_.size() >= kMaxLabelSets) {
            const std::vector<std::string> other(values.size(), kOtherLabel);
            return &family_.Add(to_labels(spec, other), args...);
        }
        Metric* metric = &family_.Add(to_labels(spec, values), args...);
        sets_.emplace(values, metric);
        return metric;
    }

 private:
    std::vector<std::string> labels_;
    prometheus::Family<Metric>& family_;
    std::map<std::vector<std::string>, Metric*> sets_;
};

template <class Metric>
using Families = std::map<std::string, CappedFamily<Metric>>;

std::string_view to_string(MetricType type) {
    switch (type) {
        case MetricType::kCounter:
            return "counter";
        case MetricType::kGauge:
            return "gauge";
        case MetricType::kHistogram:
            return "histogram";
    }
    return "counter";
}

// A pipe would end the table's cell.
void append_cell(std::string& out, std::string_view text) {
    for (const char c : text) {
        if (c == '|') {
            out += '\\';
        }
        out += c;
    }
}

}  // namespace

void Counter::add(double amount) const {
    if (counter_ != nullptr) {
        counter_->Increment(amount);
    }
}

double Counter::value() const {
    return counter_ == nullptr ? 0.0 : counter_->Value();
}

void Gauge::set(double value) const {
    if (gauge_ != nullptr) {
        gauge_->Set(value);
    }
}

void Gauge::add(double amount) const {
    if (gauge_ != nullptr) {
        gauge_->Increment(amount);
    }
}

double Gauge::value() const {
    return gauge_ == nullptr ? 0.0 : gauge_->Value();
}

void Histogram::observe(double value) const {
    if (histogram_ != nullptr) {
        histogram_->Observe(value);
    }
}

void Histogram::observe_counted(const std::vector<double>& counts, double sum) const {
    if (histogram_ != nullptr) {
        histogram_->ObserveMultiple(counts, sum);
    }
}

struct Metrics::Impl {
    prometheus::Registry registry;
    std::mutex mutex;
    std::map<std::string, MetricType> types;
    Families<prometheus::Counter> counters;
    Families<prometheus::Gauge> gauges;
    Families<prometheus::Histogram> histograms;
    std::vector<std::function<void()>> samples;  // each brings one metric up to date

    // The family of `spec`, made on its first use by `build`, one of prometheus-cpp's builders.
    template <class Metric, class Build>
    CappedFamily<Metric>& family(const MetricSpec& spec, Families<Metric>& families, Build build) {
        const auto [type, is_new] = types.emplace(spec.name, spec.type);
        SLUICE_ASSERT(type->second == spec.type);
        if (is_new) {
            auto& made = build().Name(spec.name).Help(spec.help).Register(registry);
            families.emplace(spec.name, CappedFamily<Metric>(spec, made));
        }
        return families.at(spec.name);
    }
};

Metrics::Metrics() : impl_(std::make_unique<Impl>()) {}

Metrics::~Metrics() = default;

Counter Metrics::counter(const MetricSpec& spec, const std::vector<std::string>& values) {
    SLUICE_ASSERT(spec.type == MetricType::kCounter);
    const std::lock_guard lock(impl_->mutex);
    auto& family = impl_->family(spec, impl_->counters, prometheus::BuildCounter);
    Counter handle;
    handle.counter_ = family.get(spec, values);
    return handle;
}

Gauge Metrics::gauge(const MetricSpec& spec, const std::vector<std::string>& values) {
    SLUICE_ASSERT(spec.type == MetricType::kGauge);
    const std::lock_guard lock(impl_->mutex);
    auto& family = impl_->family(spec, impl_->gauges, prometheus::BuildGauge);
    Gauge handle;
    handle.gauge_ = family.get(spec, values);
    return handle;
}

Histogram Metrics::histogram(const MetricSpec& spec, const std::vector<std::string>& values) {
    SLUICE_ASSERT(spec.type == MetricType::kHistogram);
    SLUICE_ASSERT(!spec.buckets.empty());
    SLUICE_ASSERT(std::is_sorted(spec.buckets.begin(), spec.buckets.end()));
    const std::lock_guard lock(impl_->mutex);
    auto& family = impl_->family(spec, impl_->histograms, prometheus::BuildHistogram);
    Histogram handle;
    handle.histogram_ = family.get(spec, values, spec.buckets);
    return handle;
}

void Metrics::sampled(const MetricSpec& spec, const std::vector<std::string>& values,
                      std::function<double()> read) {
    SLUICE_ASSERT(spec.type != MetricType::kHistogram);
    std::function<void()> update;
    if (spec.type == MetricType::kGauge) {
        update = [gauge = gauge(spec, values), read = std::move(read)] { gauge.set(read()); };
    } else {
        update = [counter = counter(spec, values), read = std::move(read)] {
            counter.add(read() - counter.value());
        };
    }
    const std::lock_guard lock(impl_->mutex);
    impl_->samples.push_back(std::move(update));
}

std::string Metrics::expose() const {
    {
        // Under the lock, or two scrapes at once would add a counter's growth twice.
        const std::lock_guard lock(impl_->mutex);
        for (const auto& update : impl_->samples) {
            update();
        }
    }
    return prometheus::TextSerializer().Serialize(impl_->registry.Collect());
}

std::string describe_metrics(const std::vector<const MetricSpec*>& specs) {
    std::vector<const MetricSpec*> sorted = specs;
    std::sort(sorted.begin(), sorted.end(),
              [](const MetricSpec* a, const MetricSpec* b) { return a->name < b->name; });
    std::string out =
        "# Metrics\n\n`GET /metrics` gives these in the Prometheus text format. Of each metric "
        "1,000 "
        "label sets are kept apart; further ones are counted together under the value "
        "`_other`.\n\n| metric | type | labels | meaning |\n|---|---|---|---|\n";
    for (const MetricSpec* spec : sorted) {
        out += "| `" + spec->name + "` | ";
        out += to_string(spec->type);
        out += " | ";
        for (std::size_t i = 0; i < spec->labels.size(); ++i) {
            out += (i == 0 ? "`" : ", `") + spec->labels[i] + "`";
        }
        out += " | ";
        append_cell(out, spec->help);
        out += " |\n";
    }
    return out;
}

}  // namespace sluice::obs
