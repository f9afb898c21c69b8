# Stand-ins for NVIDIA's libraries that frameworks bind: simgpu_stand_in(NAME VERSION STATUS SOURCES…) adds the target
# simgpu-NAME, libNAME.so.VERSION. NAME.txt beside the caller's CMakeLists.txt lists what the library exports, one name a
# line, under the version of its soname; what SOURCES do not define answers STATUS. SOURCES may
# launch the kernels of stand_in_kernel.h.
function(simgpu_stand_in name version status)
  set(list ${CMAKE_CURRENT_SOURCE_DIR}/${name}.txt)
  set(map ${CMAKE_CURRENT_BINARY_DIR}/${name}.map)
  set(stubs ${CMAKE_CURRENT_BINARY_DIR}/${name}.inc)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${list})
  file(STRINGS ${list} names)
  list(JOIN names ";\n    " exports)
  file(CONFIGURE OUTPUT ${map} CONTENT "lib${name}.so.${version} {\nglobal:\n    ${exports};\nlocal:\n    *;\n};\n" @ONLY)
  list(TRANSFORM names REPLACE "(.+)" "STUB(\\1)")
  list(JOIN names "\n" lines)
  file(CONFIGURE OUTPUT ${stubs} CONTENT "${lines}\n" @ONLY)
  add_library(simgpu-${name} SHARED ${PROJECT_SOURCE_DIR}/tests/simgpu/stand_in_stubs.c ${ARGN})
  target_compile_definitions(simgpu-${name} PRIVATE STAND_IN_NAMES="${stubs}" STAND_IN_STATUS=${status})
  set_target_properties(simgpu-${name} PROPERTIES
    PREFIX "" OUTPUT_NAME lib${name} SUFFIX .so.${version} NO_SONAME ON LIBRARY_OUTPUT_DIRECTORY ${GW_SIMGPU_DIR}
    LINK_DEPENDS ${map} BUILD_RPATH "$ORIGIN" INSTALL_RPATH "$ORIGIN")
  target_include_directories(simgpu-${name} SYSTEM PRIVATE ${GW_CUDA_INCLUDE_DIR})
  target_link_options(simgpu-${name} PRIVATE
    -Wl,-soname,lib${name}.so.${version} -Wl,-Bsymbolic -Wl,-z,defs -Wl,--version-script=${map})
  target_link_libraries(simgpu-${name} PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
  install(TARGETS simgpu-${name} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/gpuwitness/simgpu)
endfunction()
