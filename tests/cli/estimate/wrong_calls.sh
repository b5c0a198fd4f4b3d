try() { "$MEMTOOL" estimate "$@" || echo "exit $?"; }
try
try --params 7Q
try --params 0
try --params 7B --zero 2
try --params 7B --zero 4 --ranks 2
try --params 7B --card foo
try --params 7B --dtype int3
try --layers 99999999999 --hidden 1 --heads 1
try --config missing.json
echo '[]' >list.json
try --config list.json
echo '{"hidden_size": 1e99, "num_hidden_layers": 1, "num_attention_heads": 1}' >huge.json
try --config huge.json
try --params 7B --against missing.pickle
try --params 1000000000000000 --ranks 1 file
