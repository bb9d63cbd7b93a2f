#include "app/page_import.h"

#include "titles/slug.h"

#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace sluice::app {

namespace {

using titles::NewPage;

// Bodies may be large: a batch is full at so many bytes, too.
constexpr std::size_t kBatchBytes = std::size_t{16} * 1024 * 1024;

Error bad(std::string message) {
    return Error{Code::kInvalidRequest, Blame::kCaller, std::move(message), {}};
}

// Which ids and slugs were there before, from the beginning of a source.
class Names {
 public:
    // Gives the page the slug that it lacks.
    Status take(NewPage& page) {
        if (page.id && !ids_.insert(*page.id).second) {
            return bad("id: " + std::to_string(*page.id) + " is there a second time");
        }
        if (!page.slug.empty()) {
            return slugs_.insert(page.slug).second
                       ? Status()
                       : bad("slug: \"" + page.slug + "\" is there a second time");
        }
        if (!page.id) {
            page.slug = next_slug(titles::slug_of(page.title));
        }
        return {};
    }

 private:
    std::string next_slug(const std::string& slug) {
        std::size_t& number = numbers_[slug];
        for (;;) {
            number += 1;
            std::string numbered = number == 1 ? slug : titles::numbered_slug(slug, number);
            if (slugs_.insert(numbered).second) {
                return numbered;
            }
        }
    }

    std::unordered_set<std::int64_t> ids_;
    std::unordered_set<std::string> slugs_;
    std::unordered_map<std::string, std::size_t> numbers_;
};

class Import {
 public:
    Import(PageSource& source, OnBadPage on_bad, const WriteBatch& write, const ImportHooks& hooks)
        : source_(source), on_bad_(on_bad), write_(write), hooks_(hooks) {}

    ImportReport run() {
        if (on_bad_ == OnBadPage::kStop && !check()) {
            return std::move(report_);
        }
        if (const Status rewound = source_.rewind(); !rewound.ok()) {
            report_.error = rewound.error().message;
            return std::move(report_);
        }
        write_all();
        return std::move(report_);
    }

 private:
    // Calls `take` with each page that is good, until it returns false. False: that, a source that
    // can't be read, or an interruption.
    template <class Take>
    bool each_page(bool is_checking, Take take) {
        Names names;
        report_.pages = report_.refused = 0;
        for (;;) {
            if (hooks_.is_interrupted && hooks_.is_interrupted()) {
                report_.interrupted = true;
                return false;
            }
            Result<std::optional<SourcedPage>> next = source_.next();
            if (!next.ok()) {
                report_.error = next.error().message;
                return false;
            }
            if (!*next) {
                return true;
            }
            report_.pages += 1;
            SourcedPage& found = **next;
            Status good = found.page.ok() ? names.take(*found.page) : found.page.error();
            if (!good.ok()) {
                refuse(found.where, good.error().message);
            } else if (!take(found.where, *std::move(found.page))) {
                return false;
            }
            if (hooks_.progress) {
                hooks_.progress(
                    {is_checking, source_.bytes_read(), source_.bytes(), report_.pages});
            }
        }
    }

    bool check() {
        return each_page(true, [](const std::string&, NewPage) { return true; }) &&
               report_.refused == 0;
    }

    void write_all() {
        const auto take = [this](const std::string& where, NewPage page) {
            batch_bytes_ += page.body.size();
            places_.push_back(where);
            batch_.push_back(std::move(page));
            return (batch_.size() < titles::kMaxPagesAtOnce && batch_bytes_ < kBatchBytes) ||
                   flush();
        };
        if (each_page(false, take)) {
            flush();
        }
    }

    // False: the import ends here. A batch goes in as a whole or not at all, so that after one that
    // is left out what stands before it is written for itself, and then the rest: each page is
    // tried twice at most, however many are left out.
    bool flush() {
        batch_bytes_ = 0;
        std::size_t begin = 0;
        std::size_t end = batch_.size();
        while (begin < batch_.size()) {
            const Result<titles::ImportCount> count = write_(part_of_batch(begin, end));
            if (count.ok()) {
                report_.count.added += count->added;
                report_.count.changed += count->changed;
                report_.count.same += count->same;
                begin = end;
                end = batch_.size();
                continue;
            }
            const auto [place, text] = titles::placed_message(count.error().message);
            if (place == 0 || place > end - begin) {
                report_.error = count.error().message;
                return false;
            }
            const std::size_t at = begin + place - 1;
            if (on_bad_ == OnBadPage::kStop) {
                report_.error = places_[at] + ": " + std::string(text);
                return false;
            }
            refuse(places_[at], text);
            batch_.erase(batch_.begin() + static_cast<std::ptrdiff_t>(at));
            places_.erase(places_.begin() + static_cast<std::ptrdiff_t>(at));
            end = at > begin ? at : batch_.size();
        }
        batch_.clear();
        places_.clear();
        return true;
    }

    std::vector<NewPage> part_of_batch(std::size_t begin, std::size_t end) const {
        const auto first = batch_.begin();
        return {first + static_cast<std::ptrdiff_t>(begin),
                first + static_cast<std::ptrdiff_t>(end)};
    }

    void refuse(const std::string& where, std::string_view message) {
        report_.refused += 1;
        if (hooks_.refused) {
            hooks_.refused(where, message);
        }
    }

    PageSource& source_;
    const OnBadPage on_bad_;
    const WriteBatch& write_;
    const ImportHooks& hooks_;
    ImportReport report_;
    std::vector<NewPage> batch_;
    std::vector<std::string> places_;  // of the pages in batch_
    std::size_t batch_bytes_ = 0;
};

}  // namespace

ImportReport import_pages(PageSource& source, OnBadPage on_bad, const WriteBatch& write,
                          const ImportHooks& hooks) {
    return Import(source, on_bad, write, hooks).run();
}

}  // namespace sluice::app
