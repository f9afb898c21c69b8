/* The parts of the session that need neither LTTng nor a child process. */
#include "analyzer/session/buffers.h"
#include "analyzer/session/job.h"
#include "analyzer/session/mode.h"
#include "analyzer/session/packets.h"
#include "analyzer/session/program_file.h"
#include "analyzer/session/run_dir.h"
#include "analyzer/session/run_info.h"
#include "analyzer/session/schedule.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define MIB (1ull << 20)
#define GIB (1ull << 30)

static struct gw_buffer_plan plan_or_fail(uint64_t asked, unsigned cpus, uint64_t memory, uint64_t shm, uint64_t disk)
{
    struct gw_buffer_plan plan = {0};
    struct gw_buffer_place in_memory = {"memory", shm}, on_disk = {"disk", disk};
    assert_int_equal(gw_buffer_plan(asked, 0, cpus, memory, in_memory, on_disk, &plan, NULL), 0);
    return plan;
}

static void default_buffers_fit(void **state)
{
    (void)state;
    struct gw_buffer_plan plan = plan_or_fail(0, 2, 64 * GIB, 32 * GIB, 100 * GIB);
    assert_string_equal(plan.path, "memory");
    assert_int_equal(plan.subbuffer_bytes * GW_SUBBUFFERS, GW_BUFFER_DEFAULT_BYTES);

    plan = plan_or_fail(0, 256, 512 * GIB, 256 * GIB, 100 * GIB);
    assert_int_equal(plan.subbuffer_bytes * GW_SUBBUFFERS * 256, GIB);

    /* A container's 64 MB with many CPUs: a disk is better, whole where it has room. */
    plan = plan_or_fail(0, 64, 64 * GIB, 64 * MIB, 100 * GIB);
    assert_string_equal(plan.path, "disk");
    assert_int_equal(plan.subbuffer_bytes * GW_SUBBUFFERS, GW_BUFFER_ENOUGH_BYTES);

    /* Little everywhere: what there is, as long as it is the smallest useful size. */
    plan = plan_or_fail(0, 2, 64 * GIB, 8 * MIB, 0);
    assert_string_equal(plan.path, "memory");
    assert_true(plan.subbuffer_bytes * GW_SUBBUFFERS * 2 <= 4 * MIB);
    assert_true(plan.subbuffer_bytes * GW_SUBBUFFERS >= GW_BUFFER_SMALLEST_BYTES);

    /* Never more than a quarter of the memory that is free. */
    plan = plan_or_fail(0, 2, 64 * MIB, 32 * GIB, 0);
    assert_true(plan.subbuffer_bytes * GW_SUBBUFFERS * 2 <= 16 * MIB);
}

static void asked_buffers_are_taken_or_refused(void **state)
{
    (void)state;
    struct gw_buffer_plan plan = plan_or_fail(64 * MIB, 2, 64 * GIB, 32 * GIB, 0);
    assert_int_equal(plan.subbuffer_bytes, 8 * MIB);
    plan = plan_or_fail(5 * MIB, 2, 64 * GIB, 32 * GIB, 0);
    assert_int_equal(plan.subbuffer_bytes, MIB);
    plan = plan_or_fail(64 * MIB, 2, 64 * GIB, 64 * MIB, GIB);
    assert_string_equal(plan.path, "disk");

    uint64_t needed = 0;
    struct gw_buffer_place memory = {"memory", 64 * MIB}, disk = {"disk", 0};
    assert_int_equal(gw_buffer_plan(64 * MIB, 0, 2, 64 * GIB, memory, disk, &plan, &needed), -ENOSPC);
    memory.available = needed;
    assert_int_equal(gw_buffer_plan(64 * MIB, 0, 2, 64 * GIB, memory, disk, &plan, NULL), 0);
    assert_int_equal(gw_buffer_plan(4096, 0, 2, 64 * GIB, memory, disk, &plan, NULL), -EINVAL);
    assert_int_equal(gw_buffer_plan(UINT64_MAX / 2, 0, 64, 64 * GIB, memory, disk, &plan, NULL), -ENOSPC);
}

static void rings_fit(void **state)
{
    (void)state;
    struct gw_buffer_plan plan;
    struct gw_buffer_place large = {"memory", 64 * GIB}, small = {"memory", GIB}, none = {NULL, 0};
    assert_int_equal(gw_buffer_plan(0, 30000000000, 4, 256 * GIB, large, none, &plan, NULL), 0);
    assert_int_equal(plan.subbuffer_bytes * GW_SUBBUFFERS, 64 * MIB);
    assert_int_equal(gw_buffer_plan(0, 3600000000000, 4, 256 * GIB, large, none, &plan, NULL), 0);
    assert_true(plan.subbuffer_bytes * GW_SUBBUFFERS >= 4 * GIB);
    assert_int_equal(gw_buffer_plan(0, 30000000000, 64, 256 * GIB, small, none, &plan, NULL), 0);
    assert_true(plan.subbuffer_bytes * GW_SUBBUFFERS * 64 <= GIB / 2);
    assert_int_equal(gw_buffer_plan(4 * MIB, 30000000000, 4, 256 * GIB, large, none, &plan, NULL), 0);
    assert_int_equal(plan.subbuffer_bytes * GW_SUBBUFFERS, 4 * MIB);
}

static void this_machine_has_cpus(void **state)
{
    (void)state;
    assert_true(gw_possible_cpus() >= (unsigned)sysconf(_SC_NPROCESSORS_ONLN));
    assert_int_equal(gw_space_available("/nonexistent"), 0);
}

static void forget_launchers(void)
{
    static const char *const names[] = {"RANK",         "WORLD_SIZE", "TORCHELASTIC_RUN_ID", "MASTER_PORT",
                                        "SLURM_PROCID", "PMI_RANK",   "OMPI_COMM_WORLD_RANK"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        unsetenv(names[i]);
}

static void ranks_are_recognised(void **state)
{
    (void)state;
    struct gw_job job, other;
    forget_launchers();
    assert_false(gw_job_find(&job));
    setenv("RANK", "3", 1);
    assert_false(gw_job_find(&job));
    setenv("WORLD_SIZE", "1", 1);
    assert_false(gw_job_find(&job));
    setenv("WORLD_SIZE", "8", 1);
    setenv("TORCHELASTIC_RUN_ID", "a", 1);
    assert_true(gw_job_find(&job));
    assert_int_equal(job.rank, 3);
    assert_int_equal(job.size, 8);
    setenv("RANK", "4", 1);
    assert_true(gw_job_find(&other));
    assert_string_equal(job.id, other.id);
    setenv("TORCHELASTIC_RUN_ID", "b", 1);
    assert_true(gw_job_find(&other));
    assert_string_not_equal(job.id, other.id);
    setenv("RANK", "x", 1);
    assert_false(gw_job_find(&other));
    forget_launchers();
}

static void directory_is_made_once(void **state)
{
    const char *base = *state;
    char name[256];
    struct gw_run_dir dir, again;
    snprintf(name, sizeof(name), "%s/single", base);
    assert_int_equal(gw_run_dir_create(name, NULL, &dir), 0);
    assert_string_equal(dir.root, dir.path);
    assert_int_equal(gw_run_dir_create(name, NULL, &again), -EEXIST);

    struct gw_job job = {.id = "torchrun a ", .rank = 0, .size = 2};
    assert_int_equal(gw_run_dir_create(name, &job, &dir), 0); /* empty: as good as new */
    /* Another container's process may have this one's number and host name. */
    assert_int_equal(gw_run_dir_create(name, &job, &again), 0);
    assert_int_equal(strncmp(dir.path, again.path, strlen(dir.path)), 0);
    assert_string_equal(again.path + strlen(dir.path), "-2");
    struct gw_job other = {.id = "torchrun b ", .rank = 0, .size = 2};
    assert_int_equal(gw_run_dir_create(name, &other, &again), -EEXIST);
    assert_int_equal(gw_run_dir_create(name, NULL, &again), -EEXIST);

    snprintf(name, sizeof(name), "%s/missing/run", base);
    assert_int_equal(gw_run_dir_create(name, NULL, &again), -ENOENT);
    assert_int_equal(gw_run_dir_create(name, &job, &again), -ENOENT);
}

static void info_is_replaced_whole(void **state)
{
    const char *base = *state;
    char *command[] = {"program", "caf\xe9", NULL};
    struct gw_buffer_plan plan = {.path = "p", .subbuffer_bytes = 4096, .cpus = 2};
    struct gw_run_settings settings = {
        .command = command, .gpu_timing = "off", .hash = "off", .buffers_path = "/b", .buffers = &plan};
    setenv("CUDA_VISIBLE_DEVICES", "0", 1);
    setenv("NCCL_SECRET_TOKEN", "hidden", 1);
    json_t *info = gw_run_info_create(&settings);
    json_t *read = NULL;
    assert_non_null(info);
    assert_int_equal(gw_run_info_read(base, &read), -ENOENT);
    assert_int_equal(gw_run_info_write(base, info), 0);
    assert_int_equal(gw_run_info_read(base, &read), 0);
    assert_true(json_equal(info, read));
    json_t *environment = json_object_get(read, "environment");
    assert_string_equal(json_string_value(json_object_get(environment, "CUDA_VISIBLE_DEVICES")), "0");
    assert_null(json_object_get(environment, "NCCL_SECRET_TOKEN"));
    assert_null(json_object_get(environment, "HOME"));
    json_decref(read);

    json_object_set_new(info, "schema", json_string("other"));
    assert_int_equal(gw_run_info_write(base, info), 0);
    assert_int_equal(gw_run_info_read(base, &read), -EINVAL);
    assert_int_equal(gw_run_info_write("/nonexistent", info), -ENOENT);
    json_decref(info);
}

static void write_stream(const char *path, size_t length)
{
    /* Two packets of 128 bytes: magic at 0, packet size in bits at 56, as LTTng-UST lays its packets out. */
    uint8_t bytes[256] = {0};
    for (size_t packet = 0; packet < sizeof(bytes); packet += 128) {
        memcpy(bytes + packet, &(uint32_t){0xc1fc1fc1}, 4);
        memcpy(bytes + packet + 56, &(uint64_t){128 * 8}, 8);
    }
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    fclose(file);
}

static off_t size_of(const char *path)
{
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    return status.st_size;
}

static void broken_packets_are_cut(void **state)
{
    static const struct {
        size_t length, kept;
    } cases[] = {{0, 0}, {3, 0}, {40, 0}, {127, 0}, {128, 128}, {129, 128}, {200, 128}, {255, 128}, {256, 256}};
    const char *base = *state;
    char path[256];
    snprintf(path, sizeof(path), "%s/stream_0", base);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        write_stream(path, cases[i].length);
        assert_int_equal(gw_packets_trim(base), cases[i].length != cases[i].kept);
        assert_int_equal(size_of(path), cases[i].kept);
    }
    snprintf(path, sizeof(path), "%s/metadata", base);
    write_stream(path, 200);
    assert_int_equal(gw_packets_trim(base), 0);
    assert_int_equal(size_of(path), 200);
    assert_true(gw_packets_trim("/nonexistent") < 0);
}

static void schedule_keeps_times(void **state)
{
    (void)state;
    struct gw_schedule_settings settings = {.delay_ns = 50, .duration_ns = 20};
    assert_true(gw_schedule_begins_paused(&settings));
    struct gw_schedule schedule = gw_schedule_begin(&settings, 1000);
    assert_int_equal(schedule.due_ns, 1050);
    assert_int_equal(gw_schedule_next(&schedule, 1049, false), GW_STEP_NONE);
    assert_int_equal(gw_schedule_next(&schedule, 1051, false), GW_STEP_RECORD);
    assert_int_equal(schedule.due_ns, 1071);
    assert_int_equal(gw_schedule_next(&schedule, 1060, true), GW_STEP_NONE);
    assert_int_equal(gw_schedule_next(&schedule, 1071, false), GW_STEP_PAUSE);
    assert_int_equal(schedule.due_ns, GW_SCHEDULE_NEVER);
    assert_int_equal(gw_schedule_next(&schedule, INT64_MAX - 1, false), GW_STEP_NONE);

    settings = (struct gw_schedule_settings){.duration_ns = 20};
    assert_false(gw_schedule_begins_paused(&settings));
    schedule = gw_schedule_begin(&settings, 1000);
    assert_int_equal(schedule.due_ns, 1020);
    assert_int_equal(gw_schedule_next(&schedule, 1020, false), GW_STEP_PAUSE);
}

static void schedule_obeys_signals(void **state)
{
    (void)state;
    struct gw_schedule_settings settings = {.usr2 = GW_USR2_WINDOW};
    assert_true(gw_schedule_begins_paused(&settings));
    struct gw_schedule schedule = gw_schedule_begin(&settings, 1000);
    assert_int_equal(schedule.due_ns, GW_SCHEDULE_NEVER);
    assert_int_equal(gw_schedule_next(&schedule, 2000, false), GW_STEP_NONE);
    assert_int_equal(gw_schedule_next(&schedule, 2000, true), GW_STEP_RECORD);
    assert_int_equal(gw_schedule_next(&schedule, 3000, true), GW_STEP_PAUSE);
    assert_int_equal(gw_schedule_next(&schedule, 4000, true), GW_STEP_RECORD);

    settings.usr2 = GW_USR2_SNAPSHOT;
    assert_false(gw_schedule_begins_paused(&settings));
    schedule = gw_schedule_begin(&settings, 1000);
    assert_int_equal(gw_schedule_next(&schedule, 2000, true), GW_STEP_SNAPSHOT);
    assert_int_equal(gw_schedule_next(&schedule, 3000, false), GW_STEP_NONE);
}

static void mode_travels(void **state)
{
    (void)state;
    struct gw_session_mode mode = {
        .subbuffer_bytes = 1ull << 33, .windows = true, .paused = true, .rotate_bytes = 1ull << 40, .keep = 7};
    struct gw_session_mode read;
    char *text = gw_session_mode_json(&mode);
    assert_non_null(text);
    assert_int_equal(gw_session_mode_parse(text, &read), 0);
    assert_int_equal(read.subbuffer_bytes, mode.subbuffer_bytes);
    assert_true(read.windows && read.paused && !read.ring);
    assert_int_equal(read.rotate_bytes, mode.rotate_bytes);
    assert_int_equal(read.keep, 7);
    free(text);
    assert_int_equal(gw_session_mode_parse("4096", &read), -EINVAL);
    assert_int_equal(gw_session_mode_parse("{}", &read), -EINVAL);
}

/* Programs come from anywhere: one that is cut or damaged is looked at without harm. */
static void broken_programs_are_inspected(void **state)
{
    const char *base = *state;
    char path[256];
    struct gw_program_file file;
    assert_int_equal(gw_program_file_inspect("/proc/self/exe", &file), 0);
    assert_int_equal(file.kind, GW_FILE_ELF);
    assert_false(file.other_machine || file.is_static || file.needs_cudart || file.has_cudart_inside);

    static uint8_t bytes[1 << 16];
    FILE *self = fopen("/proc/self/exe", "r");
    assert_non_null(self);
    size_t length = fread(bytes, 1, sizeof(bytes), self);
    fclose(self);
    snprintf(path, sizeof(path), "%s/program", base);
    for (size_t kept = 0; kept <= length; kept += kept < 256 ? 1 : 997) {
        FILE *cut = fopen(path, "w");
        assert_non_null(cut);
        assert_int_equal(fwrite(bytes, 1, kept, cut), kept);
        fclose(cut);
        assert_int_equal(chmod(path, 0755), 0);
        assert_int_equal(gw_program_file_inspect(path, &file), 0);
    }
    for (size_t at = 16; at < 0x400; at++) {
        uint8_t saved = bytes[at];
        bytes[at] ^= 0xff;
        FILE *damaged = fopen(path, "w");
        assert_non_null(damaged);
        assert_int_equal(fwrite(bytes, 1, length, damaged), length);
        fclose(damaged);
        assert_int_equal(gw_program_file_inspect(path, &file), 0);
        bytes[at] = saved;
    }
}

static int make_base(void **state)
{
    char *base = strdup("/tmp/gpuwitness-test-XXXXXX");
    if (base == NULL || mkdtemp(base) == NULL) {
        free(base);
        return -1;
    }
    *state = base;
    return 0;
}

static int remove_base(void **state)
{
    int result = gw_remove_tree(*state);
    free(*state);
    return result;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(default_buffers_fit),
        cmocka_unit_test(asked_buffers_are_taken_or_refused),
        cmocka_unit_test(rings_fit),
        cmocka_unit_test(this_machine_has_cpus),
        cmocka_unit_test(ranks_are_recognised),
        cmocka_unit_test(schedule_keeps_times),
        cmocka_unit_test(schedule_obeys_signals),
        cmocka_unit_test(mode_travels),
        cmocka_unit_test_setup_teardown(directory_is_made_once, make_base, remove_base),
        cmocka_unit_test_setup_teardown(broken_packets_are_cut, make_base, remove_base),
        cmocka_unit_test_setup_teardown(broken_programs_are_inspected, make_base, remove_base),
        cmocka_unit_test_setup_teardown(info_is_replaced_whole, make_base, remove_base),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
