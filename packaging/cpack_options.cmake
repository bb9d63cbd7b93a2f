# Read by cpack at the time of packing, after what cmake configured.
# Without this program cpack would leave out the libraries that the binary needs, and call that a success.
find_program(SLUICE_SHLIBDEPS dpkg-shlibdeps)
if(NOT SLUICE_SHLIBDEPS)
    message(FATAL_ERROR "dpkg-shlibdeps is missing, which finds what the package depends on: apt-get install dpkg-dev")
endif()
