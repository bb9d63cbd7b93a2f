# Read by cpack at the time of packing, after what cmake configured.
# Without the first of these programs cpack would leave out the libraries that the binary needs, and call that a
# success; without the second it stops, and does not name the package.
find_program(SLUICE_SHLIBDEPS dpkg-shlibdeps)
find_program(SLUICE_FILE file)
if(NOT SLUICE_SHLIBDEPS OR NOT SLUICE_FILE)
    message(FATAL_ERROR
        "dpkg-shlibdeps or file is missing, which find what the package depends on: apt-get install dpkg-dev file")
endif()
