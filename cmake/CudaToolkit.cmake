# Finds the CUDA headers, nvcc and the runtime to link against. Only the simulated GPU, the tests and the examples need
# them; the shim and the analyzer need neither headers nor libraries of CUDA.
#   GW_CUDA_HOME         the toolkit's root (cache; found through nvcc, CUDA_HOME or build/cuda made by tests/setup)
#   GW_NVCC              the compiler, or GW_NVCC-NOTFOUND
#   GW_CUDA_INCLUDE_DIR  the folder of cuda.h
#   GW_CUDART_LIB        the shared runtime to link against (its soname only matters at run time)
find_program(GW_NVCC nvcc
  HINTS ${GW_CUDA_HOME}/bin ${CMAKE_SOURCE_DIR}/build/cuda/bin ENV CUDA_HOME ENV CUDA_PATH
  PATHS /usr/local/cuda/bin PATH_SUFFIXES bin)
if(NOT GW_CUDA_HOME AND GW_NVCC)
  get_filename_component(gw_nvcc_real ${GW_NVCC} REALPATH)
  get_filename_component(gw_nvcc_bin ${gw_nvcc_real} DIRECTORY)
  get_filename_component(GW_CUDA_HOME ${gw_nvcc_bin} DIRECTORY)
endif()
set(GW_CUDA_HOME "${GW_CUDA_HOME}" CACHE PATH "Root of the CUDA toolkit")
find_path(GW_CUDA_INCLUDE_DIR cuda.h HINTS ${GW_CUDA_HOME}/include ${GW_CUDA_HOME}/targets/x86_64-linux/include)
find_library(GW_CUDART_LIB NAMES cudart libcudart.so.13 libcudart.so.12
  HINTS ${GW_CUDA_HOME}/lib64 ${GW_CUDA_HOME}/lib ${GW_CUDA_HOME}/targets/x86_64-linux/lib)
if(GW_NVCC AND GW_CUDA_INCLUDE_DIR)
  message(STATUS "CUDA toolkit: ${GW_CUDA_HOME}")
else()
  message(FATAL_ERROR "No CUDA toolkit found (nvcc and cuda.h). Install one, or run tests/setup, which fetches NVIDIA's "
                      "packages into build/cuda, or set GW_CUDA_HOME.")
endif()
