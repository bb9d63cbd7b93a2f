// Backups of a data directory: one archive with everything durable, made while a gateway runs.
#pragma once

#include "app/backup_manifest.h"
#include "base/clock.h"
#include "base/result.h"

#include <functional>
#include <string>

namespace sluice::app {

// Writes the new file `path` (mode 0600) with a copy of each file that the data directory holds,
// each as it was at one moment. It appears when it is whole. Until then copies are in a folder
// `path`.XXXXXX, which a killed process leaves behind and the next backup to `path` removes.
// Nothing in the data directory changes, an interrupted restore apart, which is finished first.
// `is_interrupted` is asked between files. kConflict when `path` is there already; kNotFound
// without a data directory or with nothing in it; kCancelled; kUnavailable.
Result<BackupManifest> write_backup(const std::string& data_dir, const std::string& path,
                                    const Clock& clock,
                                    const std::function<bool()>& is_interrupted);

}  // namespace sluice::app
