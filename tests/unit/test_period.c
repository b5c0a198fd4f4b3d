/* SPDX-License-Identifier: MIT */
/*
 * Programs with nn.Module frames, made by hand: the calls of the model are the steps, what repeats
 * inside of them is not.
 */
#include "snapshot/model/builder.h"
#include "heap/findings/period.h"

#include "unit.h"

#define TORCH "/usr/lib/python3.12/site-packages/torch/"

struct program {
    struct mt_builder *b;
    uint64_t next_addr;
    int64_t now_us;
    struct mt_snapshot s;
    struct mt_replay r;
    struct mt_periods periods;
};

struct line {
    const char *file, *name;
    int32_t line;
};

static const struct line CALL = {TORCH "nn/modules/module.py", "_call_impl", 1790};

static void begin(struct program *p)
{
    *p = (struct program){.b = mt_builder_new(1), .next_addr = 512};
}

/* `lines`: innermost first. Returns the address. */
static uint64_t take(struct program *p, const struct line *lines, size_t n)
{
    uint32_t frames[8];
    for (size_t i = 0; i < n; i++) {
        struct mt_frame f = {.name = mt_builder_cstr(p->b, lines[i].name),
                             .filename = mt_builder_cstr(p->b, lines[i].file),
                             .line = lines[i].line};
        frames[i] = mt_builder_frame(p->b, &f);
    }
    struct mt_event e = {.addr = p->next_addr,
                         .size = 1 << 20,
                         .time_us = p->now_us++,
                         .stack = n ? mt_builder_stack(p->b, frames, n) : 0,
                         .action = MT_ACTION_ALLOC};
    ck_assert(mt_builder_event(p->b, &e));
    p->next_addr += 1 << 30;
    return e.addr;
}

/* What main() allocates itself. */
static void at_main(struct program *p, int32_t line)
{
    struct line lines[] = {{"train.py", "main", line}};
    take(p, lines, MT_COUNT(lines));
}

/* The model, called at `line` of main(): an embedding, layers of two lines each, a head. */
static void model(struct program *p, int32_t line, int layers)
{
    struct line lines[] = {{TORCH "nn/modules/linear.py", "forward", 134},
                           CALL,
                           {"model.py", "forward", 10},
                           CALL,
                           {"train.py", "main", line}};
    take(p, lines, MT_COUNT(lines));
    for (int i = 0; i < 2 * layers; i++) {
        lines[2].line = 11 + i % 2;
        take(p, lines, MT_COUNT(lines));
    }
    lines[2].line = 13;
    take(p, lines, MT_COUNT(lines));
}

static void backward(struct program *p, int layers)
{
    for (int i = 0; i < layers; i++) {
        take(p, NULL, 0);
    }
}

/* A hand-written optimizer: a function `step` that goes over the parameters. */
static void step(struct program *p, int32_t line, int parameters)
{
    for (int i = 0; i < parameters; i++) {
        struct line lines[] = {{"optim.py", "step", 5}, {"train.py", "main", line}};
        take(p, lines, MT_COUNT(lines));
    }
}

static void annotate(struct program *p, const char *name)
{
    struct mt_annotation a = {.name = mt_builder_cstr(p->b, name),
                              .stage = mt_builder_cstr(p->b, "START"),
                              .time_us = p->now_us};
    ck_assert(mt_builder_annotation(p->b, &a));
}

static const struct mt_periods *find(struct program *p)
{
    struct mt_error err;
    struct mt_period_options o = {0};
    ck_assert(mt_builder_trace(p->b, 0, mt_builder_n_events(p->b), false));
    ck_assert_int_eq(mt_builder_finish(p->b, &p->s, &err), MT_OK);
    ck_assert_int_eq(mt_replay_init(&p->r, &p->s, 0, &err), MT_OK);
    ck_assert_int_eq(mt_periods_find(&p->periods, &p->r, &o, &err), MT_OK);
    return &p->periods;
}

static void end(struct program *p)
{
    mt_periods_release(&p->periods);
    mt_replay_release(&p->r);
    mt_snapshot_release(&p->s);
}

START_TEST(one_pass_is_no_loop)
{
    struct program p;
    begin(&p);
    at_main(&p, 4);
    model(&p, 5, 24);
    backward(&p, 24);
    const struct mt_periods *k = find(&p);
    ck_assert_uint_eq(k->passes.n, 1);
    ck_assert_uint_eq(mt_periods_count(k), 0);
    ck_assert(k->learns);
    end(&p);
}
END_TEST

/* The inputs, above the call, begin the step; the state of the optimizer is no loop. */
START_TEST(steps_of_a_loop)
{
    struct program p;
    begin(&p);
    for (int i = 0; i < 7; i++) {
        at_main(&p, 4);
        model(&p, 5, 12);
        backward(&p, 12);
        step(&p, 7, 30);
    }
    const struct mt_periods *k = find(&p);
    ck_assert_uint_eq(k->passes.n, 7);
    ck_assert_uint_eq(k->bounds.n, 7);
    ck_assert_uint_eq(k->bounds.v[1], 1 + 26 + 12 + 30);
    ck_assert_uint_eq(k->passes.v[1].begin, k->bounds.v[1] + 1);
    ck_assert_uint_eq(k->passes.v[1].end, k->bounds.v[1] + 1 + 26);
    end(&p);
}
END_TEST

/* Nothing lies between the calls: the model's first and last line tell them apart. */
START_TEST(calls_one_after_the_other)
{
    struct program p;
    begin(&p);
    for (int i = 0; i < 9; i++) {
        model(&p, 5, 12);
    }
    const struct mt_periods *k = find(&p);
    ck_assert_uint_eq(k->passes.n, 9);
    ck_assert_uint_eq(k->bounds.n, 9);
    ck_assert(!k->learns);
    end(&p);
}
END_TEST

/* A loop, and behind it another one: the last step of the first ends where the second begins. */
START_TEST(two_loops)
{
    struct program p;
    begin(&p);
    for (int i = 0; i < 6; i++) {
        int32_t line = i < 3 ? 5 : 15;
        at_main(&p, line - 1);
        model(&p, line, 6);
        backward(&p, 6);
        step(&p, line + 2, 5);
    }
    const struct mt_periods *k = find(&p);
    ck_assert_uint_eq(k->passes.n, 6);
    ck_assert_uint_eq(k->bounds.n, 6);
    end(&p);
}
END_TEST

/* The line that calls the model makes its input as well: what it allocates behind the backward pass
 * is of the next step, the loss that it allocates behind the model is of its own. */
START_TEST(input_in_the_line_of_the_call)
{
    struct program p;
    begin(&p);
    for (int i = 0; i < 5; i++) {
        at_main(&p, 5);
        model(&p, 5, 6);
        at_main(&p, 5);
        backward(&p, 6);
    }
    const struct mt_periods *k = find(&p);
    ck_assert_uint_eq(k->bounds.n, 5);
    ck_assert_uint_eq(k->passes.v[1].begin, k->bounds.v[1] + 1);
    end(&p);
}
END_TEST

/* Twice in a round, from two lines: a loss and an evaluation. */
START_TEST(two_calls_a_round)
{
    struct program p;
    begin(&p);
    for (int i = 0; i < 8; i++) {
        model(&p, 5, 6);
        backward(&p, 6);
        model(&p, 8, 6);
    }
    const struct mt_periods *k = find(&p);
    ck_assert_uint_eq(k->passes.n, 16);
    ck_assert_uint_eq(k->bounds.n, 8);
    end(&p);
}
END_TEST

static void micro_batches(struct program *p, bool told)
{
    begin(p);
    for (int i = 0; i < 6; i++) {
        for (int k = 0; k < 4; k++) {
            model(p, 5, 6);
            backward(p, 6);
        }
        if (told) {
            annotate(p, "Optimizer.step#SGD.step");
            backward(p, 1); /* in place: nothing of the optimizer's own */
        } else {
            step(p, 9, 10);
        }
    }
}

START_TEST(micro_batches_are_parts_of_a_step)
{
    for (int told = 0; told < 2; told++) {
        struct program p;
        micro_batches(&p, told != 0);
        const struct mt_periods *k = find(&p);
        ck_assert_uint_eq(k->passes.n, 24);
        ck_assert_uint_eq(k->bounds.n, 6);
        end(&p);
    }
}
END_TEST

static void give(struct program *p, uint64_t addr)
{
    struct mt_event e = {
        .addr = addr, .size = 1 << 20, .time_us = p->now_us++, .action = MT_ACTION_FREE_COMPLETED};
    ck_assert(mt_builder_event(p->b, &e));
}

/* An optimizer that nothing names: gradients outlive three of four backward passes. */
START_TEST(gradients_tell_micro_batches)
{
    struct program p;
    begin(&p);
    for (int i = 0; i < 6; i++) {
        uint64_t gradients[6];
        for (int k = 0; k < 4; k++) {
            model(&p, 5, 6);
            for (int g = 0; g < 6; g++) {
                uint64_t addr = take(&p, NULL, 0);
                if (k == 0) {
                    gradients[g] = addr;
                } else {
                    give(&p, addr);
                }
            }
        }
        at_main(&p, 9);
        for (int g = 0; g < 6; g++) {
            give(&p, gradients[g]);
        }
    }
    const struct mt_periods *k = find(&p);
    ck_assert_uint_eq(k->passes.n, 24);
    ck_assert_uint_eq(k->bounds.n, 6);
    end(&p);
}
END_TEST

/* Two optimizers a round, each behind calls from lines of its own. */
START_TEST(two_optimizers_a_round)
{
    struct program p;
    begin(&p);
    for (int i = 0; i < 7; i++) {
        for (int32_t line = 5; line < 15; line += 5) {
            model(&p, line, 4);
            backward(&p, 4);
            step(&p, line + 2, 5);
        }
    }
    const struct mt_periods *k = find(&p);
    ck_assert_uint_eq(k->bounds.n, 7);
    end(&p);
}
END_TEST

/* A trainer hands the whole step to the optimizer as a closure. */
START_TEST(closure)
{
    struct program p;
    begin(&p);
    struct line lines[] = {{"model.py", "forward", 10},
                           CALL,
                           {"trainer.py", "closure", 7},
                           {TORCH "optim/adam.py", "step", 227},
                           {"trainer.py", "fit", 3}};
    struct line state[] = {{TORCH "optim/adam.py", "_init_group", 178},
                           {TORCH "optim/adam.py", "step", 238},
                           {"trainer.py", "fit", 3}};
    for (int i = 0; i < 8; i++) {
        for (int k = 0; k < 4; k++) {
            lines[0].line = 10 + k;
            take(&p, lines, MT_COUNT(lines));
        }
        backward(&p, 4);
        take(&p, state, MT_COUNT(state));
    }
    const struct mt_periods *k = find(&p);
    ck_assert_uint_eq(k->passes.n, 8);
    ck_assert_uint_eq(k->bounds.n, 8);
    end(&p);
}
END_TEST

/* No stacks at all: one forward and backward pass rises and falls. */
START_TEST(one_pass_without_stacks)
{
    struct program p;
    begin(&p);
    uint64_t kept[12], scratch;
    for (int i = 0; i < 12; i++) {
        kept[i] = take(&p, NULL, 0);
        scratch = take(&p, NULL, 0);
        give(&p, scratch);
    }
    for (int i = 12; i-- > 0;) {
        scratch = take(&p, NULL, 0);
        give(&p, kept[i]);
        give(&p, scratch);
    }
    const struct mt_periods *k = find(&p);
    ck_assert_uint_eq(mt_periods_count(k), 0);
    end(&p);
}
END_TEST

/* Generation by hand: the program calls PyTorch's layers itself, token by token. */
START_TEST(tokens)
{
    struct program p;
    begin(&p);
    struct line layer[] = {
        {TORCH "nn/modules/linear.py", "forward", 134}, CALL, {"gen.py", "main", 6}};
    struct line embedding[] = {
        {TORCH "nn/modules/sparse.py", "forward", 190}, CALL, {"gen.py", "main", 5}};
    for (int token = 0; token < 20; token++) {
        take(&p, embedding, MT_COUNT(embedding));
        for (int i = 0; i < 16; i++) {
            layer[2].line = 6 + i % 2;
            take(&p, layer, MT_COUNT(layer));
        }
        layer[2].line = 8;
        take(&p, layer, MT_COUNT(layer));
    }
    const struct mt_periods *k = find(&p);
    ck_assert_uint_eq(k->bounds.n, 20);
    end(&p);
}
END_TEST

/* One step of the optimizer is told, and nothing of a model: its loop over parameters is no steps.
 */
START_TEST(one_step_is_told)
{
    struct program p;
    begin(&p);
    at_main(&p, 1);
    annotate(&p, "Optimizer.step#Adam.step");
    step(&p, 7, 100);
    const struct mt_periods *k = find(&p);
    ck_assert_uint_eq(mt_periods_count(k), 0);
    end(&p);
}
END_TEST

UNIT_MAIN("period", one_pass_is_no_loop, steps_of_a_loop, calls_one_after_the_other, two_loops,
          input_in_the_line_of_the_call, two_calls_a_round, micro_batches_are_parts_of_a_step,
          gradients_tell_micro_batches, two_optimizers_a_round, closure, one_pass_without_stacks,
          tokens, one_step_is_told)
