/* The verbs of the command: one file each. */
#ifndef GW_CLI_VERBS_H
#define GW_CLI_VERBS_H

/*
 * Each takes the command line from its verb on (argv[0] is "gpuwitness VERB", for messages) and returns the exit
 * status: 0, 1 for a failure, 2 for a command line that makes no sense. `record` returns the program's own; see
 * record.c.
 */
int gw_verb_record(int argc, char **argv);
int gw_verb_report(int argc, char **argv);
int gw_verb_reduce(int argc, char **argv);
int gw_verb_merge(int argc, char **argv);
int gw_verb_plot(int argc, char **argv);
int gw_verb_export(int argc, char **argv);
int gw_verb_diff(int argc, char **argv);
int gw_verb_bundle(int argc, char **argv);
int gw_verb_doctor(int argc, char **argv);
int gw_verb_demo(int argc, char **argv);

#endif
