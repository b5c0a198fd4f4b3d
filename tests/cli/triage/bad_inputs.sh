#!/bin/sh
# SPDX-License-Identifier: MIT
: >empty.log
"$MEMTOOL" triage empty.log
echo "exit $?"
printf '\001\002\003\004\005\006\000\000\000\000' >binary.log
"$MEMTOOL" triage binary.log
echo "exit $?"
"$MEMTOOL" triage missing.log
echo "exit $?"
"$MEMTOOL" triage
echo "exit $?"
