/* SPDX-License-Identifier: MIT */
/* The conditions that rows of advice name: mt_if_<name> of each. */
#ifndef MEMTOOL_TRIAGE_ADVICE_ADVICE_WHEN_H
#define MEMTOOL_TRIAGE_ADVICE_ADVICE_WHEN_H

#include "triage/advice/advice.h"

bool mt_if_always(const struct mt_advisor *a);
bool mt_if_batch_is_one(const struct mt_advisor *a);
bool mt_if_batch_may_fall(const struct mt_advisor *a);
bool mt_if_budget_of_cache(const struct mt_advisor *a);
bool mt_if_budget_of_card(const struct mt_advisor *a);
bool mt_if_cache_known(const struct mt_advisor *a);
bool mt_if_died_again(const struct mt_advisor *a);
bool mt_if_expandable_already(const struct mt_advisor *a);
bool mt_if_far_outside(const struct mt_advisor *a);
bool mt_if_full_and_unsharded(const struct mt_advisor *a);
bool mt_if_graphs_on(const struct mt_advisor *a);
bool mt_if_has_smi(const struct mt_advisor *a);
bool mt_if_spread_already(const struct mt_advisor *a);
bool mt_if_not_spread(const struct mt_advisor *a);
bool mt_if_retried_smaller(const struct mt_advisor *a);
bool mt_if_library_alone(const struct mt_advisor *a);
bool mt_if_budget_not_card(const struct mt_advisor *a);
bool mt_if_is_torch_mps(const struct mt_advisor *a);
bool mt_if_cache_failed(const struct mt_advisor *a);
bool mt_if_compute_failed(const struct mt_advisor *a);
bool mt_if_cache_unknown(const struct mt_advisor *a);
bool mt_if_ggml_other(const struct mt_advisor *a);
bool mt_if_data_parallel(const struct mt_advisor *a);
bool mt_if_spilled(const struct mt_advisor *a);
bool mt_if_no_address_space(const struct mt_advisor *a);
bool mt_if_native_or_unsaid(const struct mt_advisor *a);
bool mt_if_has_visible(const struct mt_advisor *a);
bool mt_if_hint_empty_cache(const struct mt_advisor *a);
bool mt_if_hint_expandable_failed(const struct mt_advisor *a);
bool mt_if_hint_expandable_on(const struct mt_advisor *a);
bool mt_if_hint_holes(const struct mt_advisor *a);
bool mt_if_hint_holes_short(const struct mt_advisor *a);
bool mt_if_hint_holes_unknown(const struct mt_advisor *a);
bool mt_if_hints(const struct mt_advisor *a);
bool mt_if_hints_of_free(const struct mt_advisor *a);
bool mt_if_hints_with_live(const struct mt_advisor *a);
bool mt_if_holder_named(const struct mt_advisor *a);
bool mt_if_holder_unnamed(const struct mt_advisor *a);
bool mt_if_holes_would_do(const struct mt_advisor *a);
bool mt_if_host_ram_linux(const struct mt_advisor *a);
bool mt_if_host_torch(const struct mt_advisor *a);
bool mt_if_host_not_torch(const struct mt_advisor *a);
bool mt_if_killed_in_pod(const struct mt_advisor *a);
bool mt_if_killed_by_slurm(const struct mt_advisor *a);
bool mt_if_killed_at_group(const struct mt_advisor *a);
bool mt_if_killed_by_kernel(const struct mt_advisor *a);
bool mt_if_killed_unsaid(const struct mt_advisor *a);
bool mt_if_kind_unsure(const struct mt_advisor *a);
bool mt_if_device_busy(const struct mt_advisor *a);
bool mt_if_device_fault(const struct mt_advisor *a);
bool mt_if_feature_async(const struct mt_advisor *a);
bool mt_if_feature_build(const struct mt_advisor *a);
bool mt_if_windows_driver(const struct mt_advisor *a);
bool mt_if_host_ram_windows(const struct mt_advisor *a);
bool mt_if_limit_known(const struct mt_advisor *a);
bool mt_if_comfyui_may_lower(const struct mt_advisor *a);
bool mt_if_doubtful_status(const struct mt_advisor *a);
bool mt_if_ranks_load(const struct mt_advisor *a);
bool mt_if_before_torch_2_1(const struct mt_advisor *a);
bool mt_if_is_builder(const struct mt_advisor *a);
bool mt_if_is_cuda_unowned(const struct mt_advisor *a);
bool mt_if_unknown_on_card(const struct mt_advisor *a);
bool mt_if_is_loading(const struct mt_advisor *a);
bool mt_if_is_mps(const struct mt_advisor *a);
bool mt_if_is_mps_full(const struct mt_advisor *a);
bool mt_if_has_summary(const struct mt_advisor *a);
bool mt_if_is_old(const struct mt_advisor *a);
bool mt_if_is_torch(const struct mt_advisor *a);
bool mt_if_tpu_program(const struct mt_advisor *a);
bool mt_if_not_tpu_program(const struct mt_advisor *a);
bool mt_if_is_windows(const struct mt_advisor *a);
bool mt_if_kind_budget(const struct mt_advisor *a);
bool mt_if_kind_conflict(const struct mt_advisor *a);
bool mt_if_kind_disk(const struct mt_advisor *a);
bool mt_if_kind_host_ram(const struct mt_advisor *a);
bool mt_if_kind_killed(const struct mt_advisor *a);
bool mt_if_host_python(const struct mt_advisor *a);
bool mt_if_kind_of_host(const struct mt_advisor *a);
bool mt_if_kind_on_chip(const struct mt_advisor *a);
bool mt_if_kind_pool(const struct mt_advisor *a);
bool mt_if_kind_shm(const struct mt_advisor *a);
bool mt_if_soft_alone(const struct mt_advisor *a);
bool mt_if_kind_soft(const struct mt_advisor *a);
bool mt_if_library_failed(const struct mt_advisor *a);
bool mt_if_linux_other(const struct mt_advisor *a);
bool mt_if_linux_torch(const struct mt_advisor *a);
bool mt_if_lora_unquantized(const struct mt_advisor *a);
bool mt_if_attention_unfused(const struct mt_advisor *a);
bool mt_if_logits_failed(const struct mt_advisor *a);
bool mt_if_many_steps(const struct mt_advisor *a);
bool mt_if_may_be_own(const struct mt_advisor *a);
bool mt_if_may_expand_for_holes(const struct mt_advisor *a);
bool mt_if_may_record(const struct mt_advisor *a);
bool mt_if_may_split(const struct mt_advisor *a);
bool mt_if_memtools(const struct mt_advisor *a);
bool mt_if_memtools_fraction(const struct mt_advisor *a);
bool mt_if_shares_and_takes_all(const struct mt_advisor *a);
bool mt_if_not_checkpointed(const struct mt_advisor *a);
bool mt_if_not_low_vram(const struct mt_advisor *a);
bool mt_if_not_mps(const struct mt_advisor *a);
bool mt_if_not_set_limit(const struct mt_advisor *a);
bool mt_if_not_sharded(const struct mt_advisor *a);
bool mt_if_not_tpu(const struct mt_advisor *a);
bool mt_if_prints_grow(const struct mt_advisor *a);
bool mt_if_nothing_found(const struct mt_advisor *a);
bool mt_if_one_line_holds(const struct mt_advisor *a);
bool mt_if_change_serves(const struct mt_advisor *a);
bool mt_if_only_change_serves(const struct mt_advisor *a);
bool mt_if_other_replay_serves(const struct mt_advisor *a);
bool mt_if_others_would_do(const struct mt_advisor *a);
bool mt_if_others_are_more(const struct mt_advisor *a);
bool mt_if_outside_is_more(const struct mt_advisor *a);
bool mt_if_outside_is_more_unnamed(const struct mt_advisor *a);
bool mt_if_plain_may_expand(const struct mt_advisor *a);
bool mt_if_ranks_share(const struct mt_advisor *a);
bool mt_if_replay_serves(const struct mt_advisor *a);
bool mt_if_holes_matter(const struct mt_advisor *a);
bool mt_if_hint_standard(const struct mt_advisor *a);
bool mt_if_pools_large(const struct mt_advisor *a);
bool mt_if_replays_fail(const struct mt_advisor *a);
bool mt_if_round_limit(const struct mt_advisor *a);
bool mt_if_snapshot_alone(const struct mt_advisor *a);
bool mt_if_tiny_and_preallocates(const struct mt_advisor *a);
bool mt_if_jax_share_set(const struct mt_advisor *a);
bool mt_if_tiny_request(const struct mt_advisor *a);
bool mt_if_unknown_program(const struct mt_advisor *a);
bool mt_if_xla_buffer(const struct mt_advisor *a);
bool mt_if_xpu_large(const struct mt_advisor *a);

/* What the conditions and the formulas share. */

/* PyTorch releases up to 1.9 read no settings; expandable segments came with 2.1. */
bool mt_facts_has_no_settings(const struct mt_facts *f);
bool mt_facts_may_expand(const struct mt_facts *f);
/* The process that a table of nvidia-smi in the log names as holding most of this card beside this
 * process; NULL: none. */
const struct mt_smi_row *mt_facts_holder(const struct mt_facts *f);
/* Held by others on the card, or not explained by this process. */
uint64_t mt_facts_others(const struct mt_facts *f);

#endif
