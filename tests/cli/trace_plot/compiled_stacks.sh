# Pictures and page name a compiled stack by the frame that names it in text, not by the interpreter.
snap="$TESTDATA/good/cache_python_oom.pickle.gz"
"$MEMTOOL" memory "$snap" -n 3 | grep -o "at::_ops::.*"
"$MEMTOOL" trace_plot "$snap" --ascii >term
"$MEMTOOL" trace_plot "$snap" -o trace.svg
"$MEMTOOL" segment_plot "$snap" --ascii >segments
"$MEMTOOL" segment_plot "$snap" -o segment.svg
for f in term trace.svg segments segment.svg; do
    for op in zeros_like to_dtype_layout _foreach_sqrt; do
        grep -q "libtorch_cpu.so at::_ops::$op::call" $f || echo "$f: no $op"
    done
    # rows of legends: a colour and a label; tips list whole stacks
    grep -v "<title>" $f | grep -E ">(python3|libstdc)[^<]*<|% +(python3|libstdc)" | sed "s/^/$f: /"
done
# a flame graph has every frame; there names of the linker are read aloud, and no line is no ":0"
"$MEMTOOL" memory "$snap" -o flame.svg
grep -o "libtorch_cpu.so:at::_ops::zeros_like::call" flame.svg | head -1
grep -q "_ZN\|:0:" flame.svg || echo "no name of the linker's, no line 0"
