#!/bin/sh
# SPDX-License-Identifier: MIT
# holes larger than the request: the screen that a person sees first
cd "$TESTDATA/logs" && "$MEMTOOL" triage fragmented.log
