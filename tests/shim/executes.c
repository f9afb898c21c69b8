/* Executes a program by every road of libc's, and prints what became of it: the same with and without the preloaded
 * library. The program is a link to /bin/echo, named like a compiler, that says its arguments; printenv stands for one
 * that says its environment. Paths that do not exist, and none at all, fail as they always do. */
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static char folder[] = "/tmp/gw-executes-XXXXXX", echo[64], print[64], driver[64];

static const char *const names[] = {"execve", "execv", "execvp", "execvpe", "execl", "execlp", "execle"};
enum { ROADS = 7 };

/* Returns only when it fails. */
static void execute(int road, const char *path)
{
    char *arguments[] = {(char *)"ptxas", (char *)"one", (char *)"", (char *)"three", NULL};
    char *environment[] = {(char *)"ONLY=this", NULL};
    switch (road) {
    case 0:
        execve(path, arguments, environment);
        break;
    case 1:
        execv(path, arguments);
        break;
    case 2:
        execvp(path, arguments);
        break;
    case 3:
        execvpe(path, arguments, environment);
        break;
    case 4:
        execl(path, "ptxas", "one", "", "three", (char *)NULL);
        break;
    case 5:
        execlp(path, "ptxas", "one", "", "three", (char *)NULL);
        break;
    default:
        execle(path, "ptxas", "one", "", "three", (char *)NULL, environment);
    }
}

static void try_road(int road, const char *path)
{
    int status = 0;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        errno = 0;
        execute(road, path);
        _exit(errno);
    }
    waitpid(child, &status, 0);
    printf("%s of %s: %d\n", names[road], path ? strrchr(path, '/') ? strrchr(path, '/') : path : "nothing", status);
}

static void try_spawn(int searches, const char *path)
{
    char *arguments[] = {(char *)"nvcc", (char *)"two", NULL};
    pid_t child = -7;
    int status = -1;
    fflush(stdout);
    errno = 77;
    int result = searches ? posix_spawnp(&child, path, NULL, NULL, arguments, environ)
                          : posix_spawn(&child, path, NULL, NULL, arguments, environ);
    int error = errno;
    if (result == 0)
        waitpid(child, &status, 0);
    printf("spawn%s of %s: %d, errno %d, status %d\n", searches ? "p" : "",
           strrchr(path, '/') ? strrchr(path, '/') : path, result, error, status);
}

/* A script named like a compiler, which tries one that is not there and then executes another in its own place. */
static int make_driver(void)
{
    FILE *script = fopen(driver, "w");
    if (!script)
        return -1;
    fprintf(script, "#!/bin/bash\nshopt -s execfail\nexec /nowhere/cicc 2>/dev/null\nexec %s in place\n", echo);
    return fclose(script) == 0 ? chmod(driver, 0755) : -1;
}

int main(void)
{
    if (!mkdtemp(folder))
        return 1;
    snprintf(echo, sizeof(echo), "%s/ptxas", folder);
    snprintf(print, sizeof(print), "%s/gcc-12", folder);
    snprintf(driver, sizeof(driver), "%s/nvcc", folder);
    if (symlink("/bin/echo", echo) != 0 || symlink("/usr/bin/printenv", print) != 0 || make_driver() != 0)
        return 1;
    for (int road = 0; road < ROADS; road++) {
        try_road(road, echo);
        try_road(road, print); /* printenv of names that are no variables fails; what counts is that it is the same */
        try_road(road, "/nowhere/ptxas");
        try_road(road, "nvcc-of-nowhere");
        try_road(road, NULL);
    }
    for (int searches = 0; searches < 2; searches++) {
        try_spawn(searches, echo);
        try_spawn(searches, "/nowhere/nvcc");
        try_spawn(searches, "cicc");
    }
    try_spawn(0, driver);
    pid_t child = vfork();
    if (child == 0) {
        execl(echo, "ptxas", "from", "vfork", (char *)NULL);
        _exit(1);
    }
    waitpid(child, NULL, 0);
    unlink(echo);
    unlink(print);
    unlink(driver);
    rmdir(folder);
    return 0;
}
