# SPDX-License-Identifier: MIT
"$MEMTOOL" conf snap.pickle
