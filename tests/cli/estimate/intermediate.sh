# SPDX-License-Identifier: MIT
# The inner size of the MLP: 4 x hidden when nothing names it, then that of the config, then the
# option; it changes the parameters that are counted, by three matrices a layer where they are gated.
cat >plain.json <<'EOF'
{"model_type": "llama", "hidden_size": 1024, "num_hidden_layers": 4, "num_attention_heads": 16, "vocab_size": 32000}
EOF
sed 's/"vocab_size"/"intermediate_size": 2816, "vocab_size"/' plain.json >named.json
first() { "$MEMTOOL" estimate "$@" | head -n 1; }
first --config plain.json
first --config plain.json --intermediate 4096
first --config named.json
first --config named.json --intermediate 4096
first --config named.json --intermediate 4097
"$MEMTOOL" estimate --config named.json --intermediate 0
echo "exit $?"
