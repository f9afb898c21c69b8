#include "analyzer/session/children.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Returns the parent of `pid`, or 0. The name in /proc/PID/stat may itself hold blanks and parentheses. */
static pid_t parent_of(const char *pid)
{
    char path[64], line[512];
    int parent = 0;
    snprintf(path, sizeof(path), "/proc/%.20s/stat", pid);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return 0;
    if (fgets(line, sizeof(line), file) != NULL) {
        const char *end = strrchr(line, ')');
        if (end == NULL || sscanf(end + 1, " %*c %d", &parent) != 1)
            parent = 0;
    }
    fclose(file);
    return parent;
}

int gw_children(pid_t *ret_pids, int capacity)
{
    int count = 0;
    pid_t self = getpid();
    DIR *processes = opendir("/proc");
    if (processes == NULL)
        return 0;
    struct dirent *entry;
    while (count < capacity && (entry = readdir(processes)) != NULL) {
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' && parent_of(entry->d_name) == self)
            ret_pids[count++] = atoi(entry->d_name);
    }
    closedir(processes);
    return count;
}

void gw_process_name(pid_t pid, char ret_name[64])
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
    memcpy(ret_name, "?", 2);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return;
    if (fgets(ret_name, 64, file) != NULL)
        ret_name[strcspn(ret_name, "\n")] = '\0';
    fclose(file);
}
