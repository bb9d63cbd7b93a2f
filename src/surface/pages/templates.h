// The templates of pages, on Google's ctemplate: what is put into one is escaped for the place
// where it stands, unless the template says otherwise.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace ctemplate {
class TemplateDictionary;
}

namespace sluice::surface {

// Parsed once; any thread after that.
class Templates {
 public:
    // Each has to parse (asserted): they are part of the program.
    Templates();
    ~Templates();
    Templates(const Templates&) = delete;
    Templates& operator=(const Templates&) = delete;

    // `name` is a file of templates/.
    std::string expand(std::string_view name, const ctemplate::TemplateDictionary& values) const;

 private:
    struct Cache;
    std::unique_ptr<Cache> cache_;
};

}  // namespace sluice::surface
