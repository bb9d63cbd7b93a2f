// What the commands below `sluice pages` share.
#pragma once

#include "app/commands/common.h"
#include "app/page_session.h"
#include "app/stores.h"

#include <cstdint>
#include <functional>
#include <memory>

namespace sluice::app {

// Runs `work` on the pages of the configured data directory, or explains why it can't. Returns the
// exit code.
int with_pages(const ConfigOptions& options, StoreUse use,
               const std::function<int(PageSession&)>& work);

// The argument that says which page. It lives as the options do.
std::shared_ptr<std::int64_t> add_page_id(CLI::App& command);

// `sluice pages import`.
void add_pages_import(CLI::App& pages, std::function<int()>& chosen);

}  // namespace sluice::app
