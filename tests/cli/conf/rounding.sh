# SPDX-License-Identifier: MIT
"$MEMTOOL" conf 'roundup_power2_divisions:[256:1,512:2,1024:4,>:8]'
