/*
 * Verdicts that need more than one repeating fault on one device: several devices, warm-up, first uses, noise.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/verdicts/judge.h"
#include "analyzer/verdicts/verdicts.h"
#include "tests/unit/model_fixture.h"
#include "tests/unit/verdict_fixture.h"

enum { STEPS = 30, WARMUP = 3 };

#define US(n) ((uint64_t)(n)*1000u)

static void lazy_load(void **state)
{
    (void)state;
    for (int faulty = 0; faulty < 2; faulty++) {
        struct outcome outcome = {0};
        struct gw_script script;
        gw_script_begin(&script);
        for (int i = 0; i < WARMUP + STEPS; i++) {
            char name[32];
            snprintf(name, sizeof name, "_Z6kernel%dv", faulty ? i : 0);
            gw_script_step(&script, i < WARMUP);
            for (int k = 0; k < 4; k++)
                gw_script_launch(&script, 1, "_Z7forwardPf", US(20));
            uint32_t call = gw_script_launch(&script, 1, name, US(20));
            if (faulty) {
                gw_fixture_model(script.fixture)->calls[call].end_ns += US(1000);
                script.now_ns += US(1000);
            }
            gw_script_end_step(&script, i < WARMUP);
        }
        end_run(&script, &outcome);
        expect(&outcome, "lazy-load", faulty ? GW_CONFIRMED : GW_RULED_OUT, 0.91);
        release(&outcome);
    }
}

static void autotune(void **state)
{
    (void)state;
    for (int faulty = 0; faulty < 2; faulty++) {
        struct outcome outcome = {0};
        struct gw_script script;
        gw_script_begin(&script);
        for (int i = 0; i < WARMUP + STEPS; i++) {
            gw_script_step(&script, i < WARMUP);
            for (int k = 0; k < 5; k++)
                gw_script_launch(&script, 1, "_Z7forwardPf", US(100));
            for (int k = 0; k < 6 && faulty && i == 15; k++) {
                char name[32];
                snprintf(name, sizeof name, "_Z5trial%dv", k);
                gw_script_launch(&script, 1, name, US(1000));
            }
            gw_script_end_step(&script, i < WARMUP);
        }
        end_run(&script, &outcome);
        expect(&outcome, "autotune", faulty ? GW_CONFIRMED : GW_RULED_OUT, 6.0 / STEPS);
        release(&outcome);
    }
}

static void compile_warmup(void **state)
{
    (void)state;
    for (int faulty = 0; faulty < 2; faulty++) {
        struct outcome outcome = {0};
        struct gw_script script;
        gw_script_begin(&script);
        for (int i = 0; i < WARMUP + STEPS; i++) {
            gw_script_step(&script, i < WARMUP);
            if (i == 0) {
                gw_script_launch(&script, 1, "_Z7forwardPf", US(100));
                gw_script_think(&script, US(faulty ? 2500000 : 2500));
                gw_script_call(&script, "cuModuleLoadData", US(faulty ? 500000 : 500));
            }
            for (int k = 0; k < 5; k++)
                gw_script_launch(&script, 1, "_Z7forwardPf", US(100));
            gw_script_end_step(&script, i < WARMUP);
        }
        end_run(&script, &outcome);
        expect(&outcome, "compile-warmup", faulty ? GW_CONFIRMED : GW_RULED_OUT, 3000.0 / STEPS);
        expect(&outcome, "recompile", GW_RULED_OUT, 0);
        release(&outcome);
    }
}

/* A watchdog asks how far a stream is, in step 5 and, long after, in step 20, right before the dispatching thread wakes
 * up: it did not wake it, so that its sleep does not take the place of the compilation in step 10. */
static void watchdog(void **state)
{
    (void)state;
    struct outcome outcome = {0};
    struct gw_script script;
    gw_script_begin(&script);
    const uint32_t thread = gw_fixture_thread(script.fixture, 77);
    for (int i = 0; i < WARMUP + STEPS; i++) {
        gw_script_step(&script, i < WARMUP);
        for (int k = 0; k < 5; k++)
            gw_script_launch(&script, 1, "_Z7forwardPf", US(100));
        if (i == 10) {
            gw_script_think(&script, US(1000000));
            gw_script_call(&script, "cuModuleLoadData", US(100000));
        }
        gw_script_blocked(&script, US(300));
        if (i == 5 || i == 20)
            gw_fixture_call(script.fixture, thread, "cuStreamQuery", script.now_ns - US(50), script.now_ns - US(48), 1);
        gw_script_end_step(&script, i < WARMUP);
    }
    end_run(&script, &outcome);
    expect(&outcome, "recompile", GW_CONFIRMED, 1100.0 / STEPS);
    release(&outcome);
}

/* Kernels on a second device beside those of the first: work_us of them in each of the first `worked` steps. */
static void two_devices(struct outcome *outcome, uint64_t work_us, int worked)
{
    struct gw_script script;
    gw_script_begin(&script);
    uint32_t device = gw_fixture_device(script.fixture, 1);
    uint32_t stream = gw_fixture_stream(script.fixture, device, 1, GW_STREAM_NON_BLOCKING);
    for (int i = 0; i < WARMUP + STEPS; i++) {
        gw_script_step(&script, i < WARMUP);
        gw_script_launch(&script, 1, "_Z7forwardPf", US(900));
        uint64_t start = script.now_ns + GW_SCRIPT_LATENCY_NS;
        uint32_t call = gw_script_call(&script, "cudaLaunchKernel", GW_SCRIPT_CALL_NS);
        if (i < worked)
            gw_fixture_op(script.fixture, call, stream, GW_OP_KERNEL, start, start + US(work_us));
        gw_script_stream_sync(&script, 1);
        gw_script_end_step(&script, i < WARMUP);
    }
    end_run(&script, outcome);
}

static void imbalance(void **state)
{
    (void)state;
    struct outcome outcome = {0};
    two_devices(&outcome, 300, WARMUP + STEPS);
    expect(&outcome, "imbalance", GW_CONFIRMED, 0.3);
    expect(&outcome, "idle-device", GW_RULED_OUT, 0);
    release(&outcome);
    two_devices(&outcome, 900, WARMUP + STEPS);
    expect(&outcome, "imbalance", GW_RULED_OUT, 0);
    release(&outcome);
}

static void idle_device(void **state)
{
    (void)state;
    struct outcome outcome = {0};
    two_devices(&outcome, 1, WARMUP + 5); /* no more than a check at the begin */
    expect(&outcome, "idle-device", GW_CONFIRMED, 0.45);
    release(&outcome);
    two_devices(&outcome, 0, 0);
    expect(&outcome, "idle-device", GW_CONFIRMED, 0.45);
    assert_int_equal(find(&outcome, "idle-device")->device, 1);
    expect(&outcome, "imbalance", GW_RULED_OUT, 0);
    /* The device may be that of a rank whose recording is not here. */
    gw_verdicts_destroy(outcome.verdicts);
    gw_budget_destroy(outcome.budget);
    outcome.model->run.ranks_absent = 1;
    analyse(&outcome);
    assert_int_equal(find(&outcome, "idle-device")->state, GW_UNKNOWN);
    assert_non_null(strstr(find(&outcome, "idle-device")->why, "some ranks of the job are not in the run"));
    release(&outcome);
}

/* The first device's kernels wait for an event of a slower second device. */
static void dependency_stall(void **state)
{
    (void)state;
    for (int faulty = 0; faulty < 2; faulty++) {
        struct outcome outcome = {0};
        struct gw_script script;
        uint64_t other_end_ns = 0;
        gw_script_begin(&script);
        uint32_t device = gw_fixture_device(script.fixture, 1);
        uint32_t stream = gw_fixture_stream(script.fixture, device, 1, GW_STREAM_NON_BLOCKING);
        for (int i = 0; i < WARMUP + STEPS; i++) {
            gw_script_step(&script, i < WARMUP);
            uint64_t start = script.now_ns + GW_SCRIPT_LATENCY_NS;
            start = start > other_end_ns ? start : other_end_ns;
            other_end_ns = start + US(500);
            uint32_t call = gw_script_call(&script, "cudaLaunchKernel", GW_SCRIPT_CALL_NS);
            gw_fixture_op(script.fixture, call, stream, GW_OP_KERNEL, start, other_end_ns);
            struct gw_order record = {.event = 0xe0, .stream = stream, .what = GW_ORDER_EVENT_RECORD};
            call = gw_script_call(&script, "cudaEventRecord", GW_SCRIPT_CALL_NS);
            gw_fixture_order_detail(script.fixture, call, record);
            script.recorded_ns = other_end_ns;
            gw_script_launch(&script, 1, "_Z7forwardPf", US(100));
            if (faulty)
                gw_script_wait(&script, 1);
            gw_script_launch(&script, 1, "_Z8backwardPf", US(100));
            gw_script_stream_sync(&script, 1);
            gw_script_end_step(&script, i < WARMUP);
        }
        end_run(&script, &outcome);
        expect(&outcome, "dependency-stall", faulty ? GW_CONFIRMED : GW_RULED_OUT, 0.106);
        /* not more: then the second device limits the step */
        release(&outcome);
    }
}

/* Once the thread that waits for the device gets its CPU back late: nobody's fault, and no repair would help. */
static void noise_is_no_fault(void **state)
{
    (void)state;
    struct outcome outcome = {0};
    struct gw_script script;
    gw_script_begin(&script);
    for (int i = 0; i < WARMUP + STEPS; i++) {
        gw_script_step(&script, i < WARMUP);
        gw_script_launch(&script, 1, "_Z7forwardPf", US(1000));
        uint64_t before_last = script.recorded_ns;
        script.recorded_ns = script.stream_end_ns[1];
        struct gw_order record = {
            .event = 0xa0 + (uint64_t)i % 2 * 8, .stream = script.streams[1], .what = GW_ORDER_EVENT_RECORD};
        struct gw_order wait = {.event = 0xa8 - (uint64_t)i % 2 * 8, .stream = GW_NONE, .what = GW_ORDER_EVENT_SYNC};
        gw_fixture_order_detail(script.fixture, gw_script_call(&script, "cudaEventRecord", GW_SCRIPT_CALL_NS), record);
        uint32_t call = gw_script_call(&script, "cudaEventSynchronize", GW_SCRIPT_CALL_NS);
        gw_fixture_order_detail(script.fixture, call, wait);
        script.now_ns = before_last > script.now_ns ? before_last + 1000 : script.now_ns;
        script.now_ns += i == 20 ? US(16000) : 0;
        gw_fixture_model(script.fixture)->calls[call].end_ns = script.now_ns;
        gw_script_end_step(&script, i < WARMUP);
    }
    end_run(&script, &outcome);
    expect(&outcome, "hiccup", GW_RULED_OUT, 0);
    expect(&outcome, "device-sync", GW_RULED_OUT, 0);
    assert_true(find(&outcome, "device-sync")->per_step == 0); /* its waits keep the host from running away */
    release(&outcome);
}

/* Off the CPU between two launches of every n-th step, by its own will or because another program took the CPU. */
static void off_the_cpu(uint32_t voluntary, int every, uint64_t ns, const char *id)
{
    struct outcome outcome = {0};
    struct gw_script script;
    gw_script_begin(&script);
    for (int i = 0; i < WARMUP + STEPS; i++) {
        gw_script_step(&script, i < WARMUP);
        gw_script_launch(&script, 1, "_Z7forwardPf", US(100));
        gw_script_stream_sync(&script, 1);
        if (i % every == every - 1)
            gw_script_blocked(&script, ns);
        gw_script_launch(&script, 1, "_Z7forwardPf", US(100));
        gw_script_end_step(&script, i < WARMUP);
    }
    struct gw_model *building = gw_fixture_model(script.fixture);
    for (size_t i = 0; i < building->thread_gaps_count; i++) {
        building->thread_gaps[i].voluntary_switches = voluntary;
        building->thread_gaps[i].involuntary_switches = 1;
    }
    end_run(&script, &outcome);
    if (find(&outcome, id)->state != (voluntary ? GW_CONFIRMED : GW_RULED_OUT))
        fail_msg("%s with %u voluntary switches: %s", id, voluntary, find(&outcome, id)->why);
    release(&outcome);
}

static void preemption_is_not_sleep(void **state)
{
    (void)state;
    for (uint32_t voluntary = 0; voluntary < 2; voluntary++)
        off_the_cpu(voluntary, 1, US(500), "host-blocked");
}

static void preemption_is_no_hiccup(void **state)
{
    (void)state;
    off_the_cpu(0, 10, US(5000), "hiccup");
}

/* The advice for a loop of many small pauses would not help against a single long one. */
static void one_pause_a_step(void **state)
{
    (void)state;
    for (unsigned pauses = 1; pauses <= 8; pauses += 7) {
        struct outcome outcome = {0};
        struct gw_script script;
        gw_script_begin(&script);
        for (int i = 0; i < WARMUP + STEPS; i++) {
            gw_script_step(&script, i < WARMUP);
            for (unsigned k = 0; k < 8; k++) {
                gw_script_launch(&script, 1, "_Z7forwardPf", US(50));
                gw_script_think(&script, k < pauses ? US(2000) / pauses : 0);
            }
            gw_script_end_step(&script, i < WARMUP);
        }
        end_run(&script, &outcome);
        const struct gw_verdict *verdict = find(&outcome, "dispatch-bound");
        if (verdict->state != GW_CONFIRMED)
            fail_msg("not confirmed: %s", verdict->why);
        assert_int_equal(strstr(verdict->fix, "one pause") != NULL, pauses == 1);
        release(&outcome);
    }
}

/* One long pause in every tenth step is no lack of speed: it is told once, as what makes these steps slow. */
static void a_rare_pause_is_a_hiccup(void **state)
{
    (void)state;
    struct outcome outcome = {0};
    struct gw_script script;
    gw_script_begin(&script);
    for (int i = 0; i < WARMUP + STEPS; i++) {
        gw_script_step(&script, i < WARMUP);
        for (int k = 0; k < 8; k++) {
            gw_script_launch(&script, 1, "_Z7forwardPf", US(50));
            gw_script_think(&script, US(48));
        }
        if (i % 10 == 9)
            gw_script_think(&script, US(3000));
        gw_script_end_step(&script, i < WARMUP);
    }
    end_run(&script, &outcome);
    expect(&outcome, "hiccup", GW_CONFIRMED, 0.3);
    const struct gw_verdict *hiccup = find(&outcome, "hiccup"), *dispatch = find(&outcome, "dispatch-bound");
    assert_ptr_equal(hiccup, &outcome.verdicts->list[0]);
    assert_non_null(strstr(hiccup->why, "3 of 30 steps, every 10th step, cost"));
    assert_non_null(strstr(hiccup->evidence[0].what, "outside CUDA before cudaLaunchKernel"));
    assert_non_null(strstr(hiccup->fix, "every 10th step"));
    /* the kernels hide the short pauses of all steps */
    expect(&outcome, "dispatch-bound", GW_RULED_OUT, 0);
    assert_non_null(strstr(dispatch->why, "rare pauses of slow steps"));
    release(&outcome);
}

static double share_of(const struct gw_verdict *verdict, const char *id)
{
    for (uint32_t i = 0; i < verdict->shares_count; i++) {
        if (strcmp(verdict->shares[i].id, id) == 0)
            return verdict->shares[i].ms;
    }
    return 0;
}

/* The host reads a number and is busy for long: without either the other costs less, or not. */
static void savings_of_the_same_time_are_told(void **state)
{
    (void)state;
    for (int same = 0; same < 2; same++) {
        const struct gw_copy read = {.size_bytes = 4, .direction = GW_COPY_D2H, .dst_kind = GW_HOST_PINNED};
        struct outcome outcome = {0};
        struct gw_script script;
        gw_script_begin(&script);
        for (int i = 0; i < WARMUP + STEPS; i++) {
            gw_script_step(&script, i < WARMUP);
            gw_script_launch(&script, 1, "_Z7forwardPf", US(1000));
            gw_script_copy(&script, 1, read, US(2));
            gw_script_stream_sync(&script, 1);
            if (same)
                gw_script_think(&script, US(400));
            else
                gw_script_call(&script, "cudaMalloc", US(400));
            gw_script_launch(&script, 1, "_Z8backwardPf", US(1000));
            gw_script_copy(&script, 1, read, US(2));
            gw_script_stream_sync(&script, 1);
            gw_script_end_step(&script, i < WARMUP);
        }
        end_run(&script, &outcome);
        const char *other = same ? "dispatch-bound" : "alloc-churn";
        const struct gw_verdict *sync = find(&outcome, "host-sync"), *late = find(&outcome, other);
        assert_int_equal(sync->state, GW_CONFIRMED);
        assert_int_equal(late->state, GW_CONFIRMED);
        /* Read without a wait, the 400 us pass beside the kernel: each repair alone saves all of them. */
        assert_true(share_of(sync, other) > 0.9 * late->saving_ms &&
                    share_of(late, "host-sync") > 0.9 * late->saving_ms);
        assert_true(outcome.verdicts->together_ms >= sync->saving_ms);
        assert_true(outcome.verdicts->together_ms < 1.05 * sync->saving_ms);
        release(&outcome);
    }
}

/* A replay that is off takes and gives as much to every saving. */
static void a_doubtful_replay_makes_near_savings_unknown(void **state)
{
    (void)state;
    struct gw_judge judge = {.threshold_ns = 10000};
    assert_int_equal(gw_judge_saving(&judge, 9999), GW_RULED_OUT);
    assert_int_equal(gw_judge_saving(&judge, 10001), GW_CONFIRMED);
    char *words = gw_judge_doubt_words(&judge);
    assert_string_equal(words, "");
    free(words);
    judge.replay_doubt_ns = 5000;
    assert_int_equal(gw_judge_saving(&judge, 4999), GW_RULED_OUT);
    assert_int_equal(gw_judge_saving(&judge, 5001), GW_UNKNOWN);
    assert_int_equal(gw_judge_saving(&judge, 14999), GW_UNKNOWN);
    assert_int_equal(gw_judge_saving(&judge, 15001), GW_CONFIRMED);
    words = gw_judge_doubt_words(&judge);
    assert_non_null(strstr(words, "0.005 ms"));
    free(words);
}

/* Waits after every launch are told once, as what they are. */
static void waits_after_launches_are_no_other_waits(void **state)
{
    (void)state;
    struct outcome outcome = {0};
    struct gw_script script;
    gw_script_begin(&script);
    for (int i = 0; i < WARMUP + STEPS; i++) {
        gw_script_step(&script, i < WARMUP);
        for (int k = 0; k < 8; k++) {
            gw_script_launch(&script, 1, k ? "_Z5layerv" : "_Z5batchv", US(100));
            gw_script_device_sync(&script);
            gw_script_think(&script, US(30));
        }
        gw_script_end_step(&script, i < WARMUP);
    }
    end_run(&script, &outcome);
    assert_string_equal(outcome.verdicts->list[0].id, "blocking-launches");
    assert_int_equal(outcome.verdicts->list[0].state, GW_CONFIRMED);
    expect(&outcome, "device-sync", GW_RULED_OUT, 0);
    release(&outcome);
}

/* A thread that sleeps before the first work of a step waits for a batch only where a batch is uploaded. */
static void only_steps_that_upload_starve(void **state)
{
    (void)state;
    for (int variant = 0; variant < 3; variant++) { /* in the last one a loader page-locks each batch */
        const bool uploads = variant > 0;
        const struct gw_copy batch = {.size_bytes = 1 << 20, .direction = GW_COPY_H2D, .src_kind = GW_HOST_PINNED};
        struct outcome outcome = {0};
        struct gw_script script;
        gw_script_begin(&script);
        const uint32_t loader = gw_fixture_thread(script.fixture, 77);
        for (int i = 0; i < WARMUP + STEPS; i++) {
            gw_script_step(&script, i < WARMUP);
            if (uploads)
                gw_script_copy(&script, 1, batch, US(50));
            for (int k = 0; k < 4; k++)
                gw_script_launch(&script, 1, k ? "_Z5layerv" : "_Z5firstv", US(50));
            gw_script_blocked(&script, US(1000));
            if (variant == 2)
                gw_fixture_call(script.fixture, loader, "cudaHostRegister", script.now_ns - US(60),
                                script.now_ns - US(50), 1);
            gw_script_end_step(&script, i < WARMUP);
        }
        end_run(&script, &outcome);
        assert_int_equal(find(&outcome, "input-starved")->state, uploads ? GW_CONFIRMED : GW_RULED_OUT);
        assert_int_equal(find(&outcome, "host-blocked")->state, uploads ? GW_RULED_OUT : GW_CONFIRMED);
        release(&outcome);
    }
}

/* A download without a hash matters where an upload from the same place follows. */
static void unseen_downloads_matter_where_they_come_back(void **state)
{
    (void)state;
    for (int back = 0; back < 2; back++) {
        const struct gw_copy down = {
            .size_bytes = 1 << 20, .src = 0x1000, .dst = 0x2000, .direction = GW_COPY_D2H, .dst_kind = GW_HOST_PINNED};
        struct gw_copy up = {.size_bytes = 1 << 20,
                             .src = back ? 0x2000 : 0x3000,
                             .dst = 0x4000,
                             .direction = GW_COPY_H2D,
                             .src_kind = GW_HOST_PINNED};
        struct outcome outcome = {0};
        struct gw_script script;
        gw_script_begin(&script);
        for (int i = 0; i < WARMUP + STEPS; i++) {
            gw_script_step(&script, i < WARMUP);
            gw_script_launch(&script, 1, "_Z5layerv", US(500));
            gw_script_copy(&script, 1, down, US(100));
            gw_script_stream_sync(&script, 1);
            up.hash = 1000 + (uint64_t)i;
            gw_script_copy(&script, 1, up, US(100));
            gw_script_end_step(&script, i < WARMUP);
        }
        end_run(&script, &outcome);
        assert_int_equal(find(&outcome, "round-trip-copy")->state, back ? GW_UNKNOWN : GW_RULED_OUT);
        assert_int_equal(find(&outcome, "repeated-upload")->state, GW_RULED_OUT);
        release(&outcome);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_doubtful_replay_makes_near_savings_unknown),
        cmocka_unit_test(lazy_load),
        cmocka_unit_test(autotune),
        cmocka_unit_test(compile_warmup),
        cmocka_unit_test(watchdog),
        cmocka_unit_test(imbalance),
        cmocka_unit_test(idle_device),
        cmocka_unit_test(dependency_stall),
        cmocka_unit_test(noise_is_no_fault),
        cmocka_unit_test(preemption_is_not_sleep),
        cmocka_unit_test(preemption_is_no_hiccup),
        cmocka_unit_test(one_pause_a_step),
        cmocka_unit_test(a_rare_pause_is_a_hiccup),
        cmocka_unit_test(savings_of_the_same_time_are_told),
        cmocka_unit_test(waits_after_launches_are_no_other_waits),
        cmocka_unit_test(only_steps_that_upload_starve),
        cmocka_unit_test(unseen_downloads_matter_where_they_come_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
