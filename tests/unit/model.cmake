# Tests of analyzer/model, analyzer/read and the CSV export.
foreach(name steps)
  add_executable(test_${name} test_${name}.c)
  target_link_libraries(test_${name} PRIVATE gw_model PkgConfig::CMOCKA)
  add_test(NAME unit.${name} COMMAND test_${name})
endforeach()
