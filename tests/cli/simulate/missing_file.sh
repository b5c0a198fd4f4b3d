# SPDX-License-Identifier: MIT
"$MEMTOOL" simulate there_is_none.pickle
