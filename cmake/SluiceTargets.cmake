# How every target of the project is compiled, and the three functions that declare one.

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
    # The precompiled header and __TIME__ would otherwise make every look-up a miss.
    set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
        CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
        ${CCACHE_PROGRAM})
endif()

find_program(MOLD_PROGRAM mold)
if(MOLD_PROGRAM)
    add_link_options(-fuse-ld=mold)
endif()

set(CMAKE_CXX_FLAGS_DEBUG "-O1 -g1")
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1")

add_library(sluice_flags INTERFACE)
target_include_directories(sluice_flags INTERFACE ${PROJECT_SOURCE_DIR}/src)
target_compile_options(sluice_flags INTERFACE
    -Wall -Wextra -Wshadow -Wconversion -Wnon-virtual-dtor -Werror
    -Xclang -fno-pch-timestamp -fno-omit-frame-pointer)
target_compile_definitions(sluice_flags INTERFACE
    BOOST_ASIO_SEPARATE_COMPILATION BOOST_BEAST_SEPARATE_COMPILATION BOOST_ASIO_NO_DEPRECATED
    # Frames of coroutines that a thread keeps for its next request; a search nests a dozen.
    BOOST_ASIO_RECYCLING_ALLOCATOR_CACHE_SIZE=16)
if(SLUICE_SANITIZE)
    target_compile_options(sluice_flags INTERFACE
        -fsanitize=${SLUICE_SANITIZE} -fno-sanitize-recover=all)
    target_link_options(sluice_flags INTERFACE -fsanitize=${SLUICE_SANITIZE})
endif()
if(SLUICE_FUZZ)
    # Coverage feedback for the fuzz targets; the ordinary tests only get a little slower by it.
    target_compile_options(sluice_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

# sluice_lay_out(TARGET KIND): the optimised binary is rewritten after linking, so that the code which searches
# run lies together; tools/lay_out knows each KIND. docs/decisions/0005-code-laid-out.md
option(SLUICE_LAYOUT "lay out the code of optimised binaries by what searches run; needs loopback" ON)
if(SLUICE_LAYOUT AND CMAKE_BUILD_TYPE STREQUAL "RelWithDebInfo" AND NOT SLUICE_SANITIZE)
    set(SLUICE_LAYS_OUT ON)
    find_program(BOLT_PROGRAM llvm-bolt-19)
    if(NOT BOLT_PROGRAM)
        message(WARNING "llvm-bolt-19 is missing, so an uncached search will cost about an eighth more: apt-get install bolt-19")
    endif()
endif()

function(sluice_lay_out TARGET KIND)
    if(SLUICE_LAYS_OUT AND BOLT_PROGRAM)
        find_package(Python3 REQUIRED COMPONENTS Interpreter)
        target_link_options(${TARGET} PRIVATE -Wl,--emit-relocs)
        add_custom_command(TARGET ${TARGET} POST_BUILD VERBATIM
            COMMENT "Laying out the code of ${TARGET}"
            COMMAND ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/tools/lay_out
                --bolt ${BOLT_PROGRAM} ${KIND} $<TARGET_FILE:${TARGET}>)
    endif()
endfunction()

# sluice_library(NAME io_http SOURCES a.cc b.cc LINK base obs PRIVATE CURL::libcurl [ASIO])
# A piece of src/. LINK names what its headers need, PRIVATE what only its .cc files do.
# ASIO: its files use Asio or Beast, so they share the precompiled header.
function(sluice_library)
    cmake_parse_arguments(ARG "ASIO" "NAME" "SOURCES;LINK;PRIVATE" ${ARGN})
    add_library(${ARG_NAME} STATIC ${ARG_SOURCES})
    target_link_libraries(${ARG_NAME} PUBLIC sluice_flags ${ARG_LINK} PRIVATE ${ARG_PRIVATE})
    if(ARG_ASIO)
        target_precompile_headers(${ARG_NAME} REUSE_FROM sluice_pch)
    endif()
endfunction()

# sluice_test(NAME guard_test SOURCES a_test.cc LINK guard [LABELS tsan])
# A GoogleTest program, one ctest entry. The label tsan: also built and run under ThreadSanitizer.
function(sluice_test)
    cmake_parse_arguments(ARG "" "NAME;TIMEOUT" "SOURCES;LINK;LABELS" ${ARGN})
    if(NOT ARG_TIMEOUT)
        set(ARG_TIMEOUT 120)
    endif()
    add_executable(${ARG_NAME} ${ARG_SOURCES})
    target_link_libraries(${ARG_NAME} PRIVATE ${ARG_LINK} sluice_test_main)
    target_precompile_headers(${ARG_NAME} REUSE_FROM sluice_test_main)
    add_test(NAME ${ARG_NAME} COMMAND ${ARG_NAME} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    set_tests_properties(${ARG_NAME} PROPERTIES LABELS "unit;${ARG_LABELS}" TIMEOUT ${ARG_TIMEOUT})
    if("tsan" IN_LIST ARG_LABELS)
        add_dependencies(tsan_tests ${ARG_NAME})
    endif()
endfunction()

# What ./test builds for `ctest -L tsan` and `ctest -L release`.
add_custom_target(tsan_tests)
add_custom_target(release_tests)
