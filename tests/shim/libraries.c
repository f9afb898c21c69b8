// libraries CASE USER…: uses objects that are linked against different CUDA runtimes, opens and closes them again and
// again, and asks for functions by handle. Prints what came of it: the same with the tool and without.
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static int call(void *library, const char *name)
{
    int (*function)(void) = library ? (int (*)(void))dlsym(library, name) : NULL;

    return function ? function() : -1;
}

static int version_of(void *runtime)
{
    int (*get)(int *) = runtime ? (int (*)(int *))dlsym(runtime, "cudaRuntimeGetVersion") : NULL;
    int version = -1;

    return get && get(&version) == 0 ? version : -1;
}

// Each object gets the runtime that it is linked to, in whichever order and scope they come.
static void together(char **users)
{
    void *first = dlopen(users[0], RTLD_NOW | RTLD_LOCAL);
    int before = call(first, "runtime_user_version");
    void *second = dlopen(users[1], RTLD_NOW | RTLD_GLOBAL);
    void *runtime12 = dlopen("libcudart.so.12", RTLD_NOW), *runtime13 = dlopen("libcudart.so.13", RTLD_NOW);

    printf("first %d, second %d, first again %d\n", before, call(second, "runtime_user_version"),
           call(first, "runtime_user_version"));
    for (int i = 0; i < 3; i++)
        printf("by handle %d, %d\n", version_of(runtime13), version_of(runtime12));
    printf("first %d, second %d\n", call(first, "runtime_user_version"), call(second, "runtime_user_version"));
    printf("allocations %d, %d\n", call(first, "runtime_user_allocate"), call(second, "runtime_user_allocate"));
}

// What was closed leaves nothing behind that is called later.
static void reopened(char **users)
{
    for (int i = 0; i < 6; i++) {
        void *user = dlopen(users[i % 2], RTLD_NOW | RTLD_LOCAL);

        printf("version %d, allocation %d, ", call(user, "runtime_user_version"), call(user, "runtime_user_allocate"));
        printf("closed %d\n", dlclose(user));
    }
    for (int i = 0; i < 6; i++) {
        void *runtime = dlopen(i % 2 ? "libcudart.so.12" : "libcudart.so.13", RTLD_NOW | RTLD_LOCAL);

        printf("version %d, ", version_of(runtime));
        printf("closed %d\n", dlclose(runtime));
    }
}

static void deep(char **users)
{
    void *user = dlopen(users[0], RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);

    printf("deep %d, %d\n", call(user, "runtime_user_version"), call(user, "runtime_user_allocate"));
    printf("by handle %d\n", version_of(dlopen("libcudart.so.13", RTLD_NOW | RTLD_LOCAL)));
}

// Nothing of it is seen but that it was there.
static void deep_only(char **users)
{
    void *user = dlopen(users[0], RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);

    printf("devices %d\n", call(user, "driver_user_devices"));
}

static void versioned(char **users)
{
    void *runtime12 = dlopen("libcudart.so.12", RTLD_NOW), *runtime13 = dlopen("libcudart.so.13", RTLD_NOW);
    const char *names[] = {"libcudart.so.12", "libcudart.so.13"};
    void *runtimes[] = {runtime12, runtime13};

    (void)users;
    for (int i = 0; i < 4; i++) {
        int (*get)(int *) = (int (*)(int *))dlvsym(runtimes[i / 2], "cudaRuntimeGetVersion", names[i % 2]);
        int version = 0, error = get ? get(&version) : 0;

        if (get)
            printf("%s: %d %d\n", names[i % 2], error, version);
        else
            printf("%s: %s\n", names[i % 2], strrchr(dlerror(), ':'));
    }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(char **users);
    } cases[] = {{"together", together},
                 {"reopened", reopened},
                 {"deep", deep},
                 {"deep-only", deep_only},
                 {"versioned", versioned}};

    for (size_t i = 0; argc >= 3 && i < sizeof(cases) / sizeof(cases[0]); i++)
        if (strcmp(argv[1], cases[i].name) == 0) {
            cases[i].run(argv + 2);
            return 5;
        }
    return 2;
}
