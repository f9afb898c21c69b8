/* Asks the simulated GPU itself whether it understands its settings, before a program runs into them. */
#ifndef GW_ANALYZER_CLI_SIMGPU_CHECK_H
#define GW_ANALYZER_CLI_SIMGPU_CHECK_H

/* folder: of the simulated GPU's libraries; config: the file with the settings. What is wrong with it is said on
 * stderr, a line each. Returns 0, -EINVAL when it is not understood, or another negative errno when that could not be
 * asked. */
int gw_simgpu_check(const char *folder, const char *config);

#endif
