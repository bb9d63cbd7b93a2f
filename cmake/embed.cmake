# cmake -DOUT=embedded.cc -DROOT=dir -DFILES="a/b.html;c.css" -P embed.cmake: writes the C++ source that
# surface/pages/embedded.h declares. Text files only.
set(rows "")
foreach(path IN LISTS FILES)
    file(READ "${ROOT}/${path}" text)
    if(text MATCHES "\\)embedded\"")
        message(FATAL_ERROR "${path} has what ends a raw string")
    endif()
    string(APPEND rows "    {\"${path}\", R\"embedded(${text})embedded\"},\n")
endforeach()
file(WRITE "${OUT}" "#include \"surface/pages/embedded.h\"

namespace sluice::surface {

namespace {

constexpr EmbeddedFile kFiles[] = {
${rows}};

}  // namespace

std::span<const EmbeddedFile> embedded_files() {
    return kFiles;
}

}  // namespace sluice::surface
")
