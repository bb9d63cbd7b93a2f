// Putting a backup back. The data directory has what it had, or all that the backup has, whenever
// the process dies: what is restored is laid out and checked in a folder of its own in there, one
// rename decides, and whoever uses the directory next finishes what is left to do.
#pragma once

#include "app/backup_manifest.h"
#include "base/result.h"

#include <functional>
#include <string>

namespace sluice::app {

enum class Overwrite : bool { kNo, kYes };

// Makes the data directory unless it is there. What it held of kept_files() is gone afterwards.
// Errors, which all leave it as it was: kInvalidRequest for an archive that is not whole or not one
// of `sluice backup`; kConflict when a newer program is needed, or the directory holds something
// and `overwrite` is kNo; kCancelled when `is_interrupted` said so between files, before anything
// was decided; kUnavailable when a gateway serves from it, and for the rest.
Result<BackupManifest> restore_backup(const std::string& path, const std::string& data_dir,
                                      Overwrite overwrite,
                                      const std::function<bool()>& is_interrupted);

// Finishes a restore that was decided and then killed, and removes what one left that was killed
// before; else does nothing. To be called before a file of the directory is opened to be changed,
// as use_data_dir() does. Takes the lock of the directory for that time: kUnavailable when somebody
// else holds it while there is something to finish.
Status finish_restore(const std::string& data_dir);

}  // namespace sluice::app
