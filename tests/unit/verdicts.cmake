# Tests of analyzer/verdicts and of the report.
foreach(name budget verdicts)
  add_executable(test_${name} test_${name}.c)
  target_link_libraries(test_${name} PRIVATE gw_verdicts gw_model_fixture PkgConfig::CMOCKA)
  add_test(NAME unit.${name} COMMAND test_${name})
endforeach()
