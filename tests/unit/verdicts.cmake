# Tests of analyzer/verdicts and of the report.
foreach(name budget comm compiles copies lane_steps replay slow_steps verdicts verdicts_limits verdicts_run verdicts_unknown)
  add_executable(test_${name} test_${name}.c)
  target_link_libraries(test_${name} PRIVATE gw_verdicts gw_model_fixture PkgConfig::CMOCKA)
  add_test(NAME unit.${name} COMMAND test_${name})
endforeach()

find_package(Python3 REQUIRED COMPONENTS Interpreter)
add_library(gw_report_runs STATIC report_runs.c)
target_link_libraries(gw_report_runs PUBLIC gw_export gw_verdicts gw_model_fixture)
add_executable(test_report test_report.c)
target_link_libraries(test_report PRIVATE gw_report_runs PkgConfig::CMOCKA PkgConfig::JANSSON)
add_test(NAME unit.report COMMAND test_report)

add_executable(gw_report_writer report_writer.c)
target_link_libraries(gw_report_writer PRIVATE gw_report_runs)
add_test(NAME unit.report_schema
  COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/check_schema.py ${CMAKE_SOURCE_DIR}/docs/report.schema.json
    $<TARGET_FILE:gw_report_writer>)
set_tests_properties(unit.report_schema PROPERTIES SKIP_RETURN_CODE 77)
