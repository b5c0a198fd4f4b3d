# SPDX-License-Identifier: MIT
# memory_stats_as_nested_dict() in each form, figures of modules and pools, two ranks line by line, and
# figures inside other JSON.
N="{'allocated_bytes': {'all': {'current': 1048576, 'peak': 2097152}, 'large_pool': {'current': 0}}, 'reserved_bytes': {'all': {'current': 4194304}}, 'num_ooms': 2}"
echo "rank 0: $N" > dict.log
echo "$N" | tr "'" '"' > json.json
cat > ordered.log <<'EOF'
[rank0]: OrderedDict([('allocated_bytes', OrderedDict([('all', OrderedDict([('current', 1048576), ('peak', 2097152)]))])), ('reserved_bytes', OrderedDict([('all', OrderedDict([('current', 4194304)]))])), ('num_ooms', 2)])
EOF
cat > pprint.log <<'EOF'
[default0]:{'allocated_bytes': {'all': {'current': 1048576,
[default1]:{'allocated_bytes': {'all': {'current': 3145728,
[default0]:                             'peak': 2097152}},
[default1]:                             'peak': 5242880}},
[default1]: 'num_ooms': 0,
[default0]: 'num_ooms': 2,
[default0]: 'reserved_bytes': {'all': {'current': 4194304}}}
[default1]: 'reserved_bytes': {'all': {'current': 8388608}}}
EOF
echo '{"step": 7, "memory": {"allocated_bytes.all.current": 1048576, "reserved_bytes.all.current": 4194304, "module_bytes.a.current": 512}}' > inside.json
"$MEMTOOL" summary --csv dict.log
"$MEMTOOL" summary --csv json.json
"$MEMTOOL" summary --csv ordered.log
"$MEMTOOL" summary --csv pprint.log
"$MEMTOOL" stats inside.json
"$MEMTOOL" stats --json inside.json | grep -A3 -e '"counters"' -e '"others"'
