#include "app/backup_manifest.h"

#include "access/sqlite_spend_store.h"
#include "access/sqlite_token_store.h"
#include "base/json.h"
#include "base/text.h"
#include "titles/sqlite_page_store.h"
#include "web/sqlite_key_store.h"

#include <algorithm>
#include <array>

namespace sluice::app {

namespace {

// Rises when an older program could not restore what a newer one wrote.
constexpr std::int64_t kFormat = 1;
constexpr std::size_t kSha256Digits = 64;

Error refusal(std::string message, Code code = Code::kInvalidRequest) {
    return Error{code, Blame::kCaller, std::move(message), {}};
}

Error no_manifest() {
    return refusal("its list of files is not as `sluice backup` writes it");
}

// What is shown in a terminal, whoever wrote it.
bool is_short_text(std::string_view text) {
    constexpr std::size_t kLongest = 64;
    return !text.empty() && text.size() <= kLongest &&
           std::ranges::all_of(text, is_printable_ascii);
}

bool is_sha256(std::string_view text) {
    return text.size() == kSha256Digits &&
           text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

Result<BackupFile> parse_file(const JsonValue& value) {
    BackupFile file;
    file.name = value.string_at("name");
    file.sha256 = value.string_at("sha256");
    const KeptFile* kept = find_kept_file(file.name);
    const auto bytes = value.find("bytes");
    const auto size = bytes ? bytes->as_integer() : std::nullopt;
    if (kept == nullptr || !is_sha256(file.sha256) || size.value_or(-1) < 0) {
        return no_manifest();
    }
    file.bytes = static_cast<std::uint64_t>(*size);
    const auto schema = value.find("schema");
    file.schema = schema ? schema->as_integer() : std::nullopt;
    if (file.schema.has_value() == kept->schema.empty() || file.schema.value_or(0) < 0) {
        return no_manifest();
    }
    if (file.schema && *file.schema > static_cast<std::int64_t>(kept->schema.size())) {
        return refusal(file.name + " has schema version " + std::to_string(*file.schema) +
                           ", this program knows versions up to " +
                           std::to_string(kept->schema.size()) + ": use the newer program",
                       Code::kConflict);
    }
    return file;
}

}  // namespace

std::span<const KeptFile> kept_files() {
    static const std::array kFiles = {
        KeptFile{"access.db", access::token_schema()},
        KeptFile{"usage.db", access::spend_schema()},
        KeptFile{"keys.db", web::key_schema()},
        KeptFile{"pages.db", titles::page_schema()},
        KeptFile{"secrets.key", {}},
    };
    return kFiles;
}

const KeptFile* find_kept_file(std::string_view name) {
    const std::span<const KeptFile> files = kept_files();
    const auto found = std::ranges::find(files, name, &KeptFile::name);
    return found == files.end() ? nullptr : &*found;
}

std::string render_manifest(const BackupManifest& manifest) {
    std::string out;
    JsonWriter json(out);
    json.begin_object().field("format", kFormat).field("version", manifest.version);
    json.field("made_at", manifest.made_at).key("files").begin_array();
    for (const BackupFile& file : manifest.files) {
        json.begin_object().field("name", file.name).field("bytes", file.bytes);
        json.field("sha256", file.sha256);
        if (file.schema) {
            json.field("schema", *file.schema);
        }
        json.end_object();
    }
    json.end_array().end_object();
    return out + "\n";
}

Result<BackupManifest> parse_manifest(std::string_view json) {
    JsonReader reader({.max_bytes = kMaxManifestBytes, .max_depth = 4});
    const auto root = reader.parse(json);
    const auto format = root.ok() ? root->find("format") : std::nullopt;
    const auto number = format ? format->as_integer() : std::nullopt;
    if (number.value_or(0) < 1) {
        return no_manifest();
    }
    BackupManifest manifest;
    manifest.version = root->string_at("version");
    manifest.made_at = root->string_at("made_at");
    if (!is_short_text(manifest.version) || !is_short_text(manifest.made_at)) {
        return no_manifest();
    }
    if (*number > kFormat) {
        return refusal("it was made by sluice " + manifest.version +
                           ", in a format that this program does not know: use the newer program",
                       Code::kConflict);
    }
    const auto files = root->find("files");
    if (!files || files->elements().empty()) {
        return no_manifest();
    }
    for (const JsonValue value : files->elements(kept_files().size() + 1)) {
        TRY(BackupFile file, parse_file(value));
        if (std::ranges::find(manifest.files, file.name, &BackupFile::name) !=
            manifest.files.end()) {
            return no_manifest();
        }
        manifest.files.push_back(std::move(file));
    }
    return manifest;
}

Error name_file(Error error, const std::string& file, const std::string& other) {
    for (std::size_t at = error.message.find(file); at != std::string::npos;
         at = error.message.find(file, at + other.size())) {
        error.message.replace(at, file.size(), other);
    }
    return error;
}

Error name_archive(Error error, const std::string& folder, const std::string& archive) {
    for (const KeptFile& kept : kept_files()) {
        std::string copy = folder;
        std::string name(kept.name);
        error = name_file(std::move(error), copy.append("/").append(kept.name),
                          name.append(" of ").append(archive));
    }
    error = name_file(std::move(error), folder + "/" + std::string(kArchiveName), archive);
    return name_file(std::move(error), folder, archive);
}

Error name_place(Error error, const std::string& prefix, const std::string& place) {
    SLUICE_ASSERT(error.message.starts_with(prefix));
    error.message.replace(0, error.message.find(": ", prefix.size()), place);
    return error;
}

}  // namespace sluice::app
