#include "analyzer/session/children.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The name in /proc/PID/stat may itself hold blanks and parentheses. */
pid_t gw_parent_of(pid_t pid)
{
    char path[64], line[512];
    int parent = 0;
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
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
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' && gw_parent_of(atoi(entry->d_name)) == self)
            ret_pids[count++] = atoi(entry->d_name);
    }
    closedir(processes);
    return count;
}

bool gw_each_child(pid_t parent, bool (*visit)(pid_t child, pid_t thread, void *data), void *data)
{
    char path[64];
    bool stopped = false;
    snprintf(path, sizeof(path), "/proc/%d/task", (int)parent);
    DIR *threads = opendir(path);
    struct dirent *thread;
    while (threads != NULL && !stopped && (thread = readdir(threads)) != NULL) {
        char name[96];
        int child;
        snprintf(name, sizeof(name), "%s/%.20s/children", path, thread->d_name);
        FILE *children = thread->d_name[0] != '.' ? fopen(name, "re") : NULL;
        while (children != NULL && !stopped && fscanf(children, "%d", &child) == 1)
            stopped = visit(child, atoi(thread->d_name), data);
        if (children != NULL)
            fclose(children);
    }
    if (threads != NULL)
        closedir(threads);
    return stopped;
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
