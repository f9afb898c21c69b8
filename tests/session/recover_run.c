/* recover_run DIR: what a reader does first; prints the result. */
#include "analyzer/session/recover.h"

#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    int result = argc == 2 ? gw_run_recover(argv[1]) : -1;
    printf("%s\n", result == 0 ? "readable" : strerror(-result));
    return result == 0 ? 0 : 1;
}
