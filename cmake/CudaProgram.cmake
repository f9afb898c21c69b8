# gw_add_cuda_program(NAME SOURCE [nvcc flags...] [DEPENDS targets or files...])
# Compiles SOURCE with nvcc, against the shared runtime unless the flags have a -cudart of their own, into
# build/programs/NAME (target NAME-program, part of all) and adds the CTest test program-NAME, which runs it on the
# simulated GPU. A file NAME.conf beside SOURCE is that simulated GPU's configuration. nvcc is run as a custom command
# because it may come from a private folder.
function(gw_add_cuda_program name source)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "DEPENDS")
  set(flags ${arg_UNPARSED_ARGUMENTS})
  if(NOT "-cudart" IN_LIST flags)
    list(PREPEND flags -cudart shared)
  endif()
  set(binary ${CMAKE_BINARY_DIR}/programs/${name})
  get_filename_component(path ${source} ABSOLUTE)
  get_filename_component(folder ${path} DIRECTORY)
  get_filename_component(library_folder ${GW_CUDART_LIB} DIRECTORY)
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/programs)
  add_custom_command(OUTPUT ${binary}
    COMMAND ${GW_NVCC} -O2 -std=c++17 -I${GW_CUDA_INCLUDE_DIR} -L${library_folder} -Xcompiler -Wall,-Wextra
      -MD -MF ${binary}.d -o ${binary} ${path} ${flags}
    DEPENDS ${path} ${arg_DEPENDS} DEPFILE ${binary}.d COMMENT "Compiling ${name}" VERBATIM)
  add_custom_target(${name}-program ALL DEPENDS ${binary})
  add_test(NAME program-${name} COMMAND ${binary})
  set(environment LD_LIBRARY_PATH=${GW_SIMGPU_DIR})
  if(EXISTS ${folder}/${name}.conf)
    list(APPEND environment SIMGPU_CONFIG=${folder}/${name}.conf)
  endif()
  set_tests_properties(program-${name} PROPERTIES ENVIRONMENT "${environment}" SKIP_RETURN_CODE 77 TIMEOUT 30)
endfunction()
