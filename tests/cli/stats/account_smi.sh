# PyTorch's own snapshot beside what nvidia-smi printed: a table of two processes on standard input.
cat >smi.txt <<'END'
|   0  NVIDIA H200                    On  |   00000000:19:00.0 Off |                    0 |
| N/A   34C    P0            114W /  700W |     900MiB / 143771MiB |      0%      Default |
|    0   N/A  N/A            1234      C   python3                                 700MiB |
|    0   N/A  N/A            1300      C   /usr/bin/other                          150MiB |
END
"$MEMTOOL" stats --nvidia-smi smi.txt "$TESTDATA/good/graphs.pickle" | sed -n '/Who holds/,/^$/p'
"$MEMTOOL" stats --json --nvidia-smi - "$TESTDATA/good/graphs.pickle" <smi.txt | sed -n '/"account"/,/^\t\t}/p'
