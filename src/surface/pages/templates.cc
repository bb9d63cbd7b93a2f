#include "surface/pages/templates.h"

#include "base/result.h"
#include "surface/pages/embedded.h"

#include <ctemplate/template_cache.h>
#include <ctemplate/template_dictionary.h>
#include <ctemplate/template_string.h>

namespace sluice::surface {

namespace {

constexpr std::string_view kFolder = "templates/";
constexpr std::string_view kEscaping = "{{%AUTOESCAPE context=\"HTML\"}}";

ctemplate::TemplateString view(std::string_view text) {
    return {text.data(), text.size()};
}

}  // namespace

struct Templates::Cache {
    ctemplate::TemplateCache templates;
};

Templates::Templates() : cache_(std::make_unique<Cache>()) {
    for (const EmbeddedFile& file : embedded_files()) {
        if (file.path.starts_with(kFolder)) {
            SLUICE_ASSERT(file.bytes.starts_with(kEscaping));
            const bool is_good = cache_->templates.StringToTemplateCache(
                view(file.path.substr(kFolder.size())), view(file.bytes),
                ctemplate::STRIP_BLANK_LINES);
            SLUICE_ASSERT(is_good);
        }
    }
    cache_->templates.Freeze();
}

Templates::~Templates() = default;

std::string Templates::expand(std::string_view name,
                              const ctemplate::TemplateDictionary& values) const {
    std::string out;
    const bool is_good = cache_->templates.ExpandWithData(view(name), ctemplate::STRIP_BLANK_LINES,
                                                          &values, nullptr, &out);
    SLUICE_ASSERT(is_good);
    return out;
}

}  // namespace sluice::surface
