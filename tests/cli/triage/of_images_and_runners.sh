#!/bin/sh
# SPDX-License-Identifier: MIT
# Image tools and llama.cpp with its kin.
cd "$TESTDATA/logs/programs" || exit
for log in comfy_async comfy_vae forge_win fooocus llama_kv ollama_host; do
    "$MEMTOOL" triage "$log.log"
done
