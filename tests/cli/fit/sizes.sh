# Sizes are the number in which the names differ, else that of an annotation that each recording has once.
cp "$TESTDATA"/fit/lstm_*.pickle.gz .
"$MEMTOOL" fit --json lstm_?.pickle.gz | grep '"size"'
trace() { # size of the program, bytes of a call, another number in the name
    printf '{"segments":[],"external_annotations":[{"name":"batch %s","stage":"START","device":0,"time_us":1},{"name":"step %s","stage":"START","device":0,"time_us":2},{"name":"step 9","stage":"START","device":0,"time_us":3}],"device_traces":[[' "$1" "$1"
    printf '{"action":"segment_alloc","addr":1099511627776,"size":20971520,"stream":0,"frames":[]},'
    printf '{"action":"alloc","addr":1099511627776,"size":%s,"stream":0,"frames":[]},' "$2"
    printf '{"action":"free_requested","addr":1099511627776,"size":%s,"stream":0,"frames":[]},{"action":"free_completed","addr":1099511627776,"size":%s,"stream":0,"frames":[]},' "$2" "$2"
    printf '{"action":"segment_free","addr":1099511627776,"size":20971520,"stream":0,"frames":[]}]]}'
}
trace 4 4000000 >one.json
trace 8 8000000 >other.json
"$MEMTOOL" fit --json one.json other.json | grep '"size"'
