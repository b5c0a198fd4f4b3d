#!/bin/sh
# SPDX-License-Identifier: MIT
# -o x.html and x.md: one page to hand on, with no script and nothing of the input as markup.
cp "$TESTDATA/logs/fragmented.log" '<b>x&y.log'
"$MEMTOOL" triage -o page.md '<b>x&y.log' && cat page.md
"$MEMTOOL" triage -o page.html '<b>x&y.log' && grep -c '<script\|<b>' page.html
grep -o '<li>.*\|&lt;b&gt;x&amp;y.log' page.html | head -n 4
# A snapshot brings its pictures along.
"$MEMTOOL" triage -o shot.html "$TESTDATA/good/true_oom.pickle" && grep -c '<script' shot.html
grep -o '<h2>Pictures</h2>\|aria-label="[^"]*"' shot.html
