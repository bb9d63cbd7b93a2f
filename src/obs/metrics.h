// Metrics in the Prometheus text format, on prometheus-cpp. A metric is declared once, in the
// metrics.h of its side, as a static MetricSpec; docs/metrics.md is generated from the
// declarations.
//
// Labels hold configured names or enumerators, never a query, URL, key or anything else from the
// wire. Resolve a handle once (it is a look-up under a lock) and keep it; using one is lock-free.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace prometheus {
class Counter;
class Gauge;
class Histogram;
}  // namespace prometheus

namespace sluice::obs {

enum class MetricType : unsigned char { kCounter, kGauge, kHistogram };

struct MetricSpec {
    MetricType type;
    std::string name;                  // sluice_<area>_<what>_<unit>[_total]
    std::string help;                  // one sentence
    std::vector<std::string> labels;   // names, in the order in which values are given
    std::vector<double> buckets = {};  // upper bounds, of a histogram
};

// Handles are cheap to copy and valid as long as the Metrics they came from.
class Counter {
 public:
    Counter() = default;
    void add(double amount = 1.0) const;
    double value() const;

 private:
    friend class Metrics;
    prometheus::Counter* counter_ = nullptr;
};

class Gauge {
 public:
    Gauge() = default;
    void set(double value) const;
    void add(double amount) const;
    double value() const;

 private:
    friend class Metrics;
    prometheus::Gauge* gauge_ = nullptr;
};

class Histogram {
 public:
    Histogram() = default;
    void observe(double value) const;
    // Adds what a hot path has counted on its own: `counts` has one number per bucket and a last
    // one for what is above them all, `sum` is that of all values.
    void observe_counted(const std::vector<double>& counts, double sum) const;

 private:
    friend class Metrics;
    prometheus::Histogram* histogram_ = nullptr;
};

// Thread-safe. One is built in app/wire.cc.
class Metrics {
 public:
    Metrics();
    ~Metrics();
    Metrics(const Metrics&) = delete;
    Metrics& operator=(const Metrics&) = delete;

    // The metric `spec` with these label values; the number of values must be that of spec.labels
    // (asserted). Past 1,000 label sets of one metric every further one shares the values "_other".
    Counter counter(const MetricSpec& spec, const std::vector<std::string>& values = {});
    Gauge gauge(const MetricSpec& spec, const std::vector<std::string>& values = {});
    Histogram histogram(const MetricSpec& spec, const std::vector<std::string>& values = {});

    // For what something else counts already: expose() calls `read` and shows that value. A
    // counter's values must not fall. `read` may be called on any thread for as long as this object
    // lives, and does not call it back.
    void sampled(const MetricSpec& spec, const std::vector<std::string>& values,
                 std::function<double()> read);

    // Everything in the Prometheus text format 0.0.4.
    std::string expose() const;

 private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

// docs/metrics.md: a table with a row per spec, in order of name.
std::string describe_metrics(const std::vector<const MetricSpec*>& specs);

}  // namespace sluice::obs
