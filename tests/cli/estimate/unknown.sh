# What is not known is said, and never taken for something near.
try() {
    echo "$1" >config.json
    "$MEMTOOL" estimate --config config.json 2>&1
    echo "exit $?"
}
try '{"model_type": "llama5"}'
try '{"hidden_size": 64}'
try '{"model_type": "llama", "num_hash_experts": 4}'
try '{"model_type": "llama", "num_hash_experts": null}' | tail -n 1
try '{"model_type": "llama", "hidden_size": "large"}'
try '{"model_type": "llama", "quantization_config": {"quant_method": "magic"}}'
try '{"model_type": "gemma3", "text_config": {}, "vision_config": {"model_type": "eye"}}'
try '{"model_type": "nemotron_h"}'
try '{"model_type": "mamba2", "time_step_limit": [0.0, Infinity]}' | head -n 1
