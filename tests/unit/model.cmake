# Tests of analyzer/model, analyzer/read and the CSV export.
foreach(name causality clocks model perturbation recordings scratch unrecorded steps kernel_name csv)
  add_executable(test_${name} test_${name}.c)
  target_link_libraries(test_${name} PRIVATE gw_model PkgConfig::CMOCKA)
  add_test(NAME unit.${name} COMMAND test_${name})
endforeach()
target_link_libraries(test_csv PRIVATE gw_export gw_model_fixture)
target_link_libraries(test_perturbation PRIVATE gw_model_fixture m)
