# gw_add_cuda_program(NAME SOURCE [nvcc flags...])
# Compiles SOURCE with nvcc against the shared runtime into build/programs/NAME (target NAME-program, part of all) and
# adds the CTest test program-NAME, which runs it on the simulated GPU. A file NAME.conf beside SOURCE is its simulated
# GPU's configuration. nvcc is run as a custom command because it may come from a private folder.
function(gw_add_cuda_program name source)
  set(binary ${CMAKE_BINARY_DIR}/programs/${name})
  get_filename_component(path ${source} ABSOLUTE)
  get_filename_component(folder ${path} DIRECTORY)
  get_filename_component(library_folder ${GW_CUDART_LIB} DIRECTORY)
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/programs)
  add_custom_command(OUTPUT ${binary}
    COMMAND ${GW_NVCC} -O2 -std=c++17 -cudart shared -I${GW_CUDA_INCLUDE_DIR} -L${library_folder}
      -Xcompiler -Wall,-Wextra ${ARGN} -MD -MF ${binary}.d -o ${binary} ${path}
    DEPENDS ${path} DEPFILE ${binary}.d COMMENT "Compiling ${name}.cu" VERBATIM)
  add_custom_target(${name}-program ALL DEPENDS ${binary})
  add_test(NAME program-${name} COMMAND ${binary})
  set(environment LD_LIBRARY_PATH=${GW_SIMGPU_DIR})
  if(EXISTS ${folder}/${name}.conf)
    list(APPEND environment SIMGPU_CONFIG=${folder}/${name}.conf)
  endif()
  set_tests_properties(program-${name} PROPERTIES ENVIRONMENT "${environment}" SKIP_RETURN_CODE 77 TIMEOUT 30)
endfunction()
