# A quadratic call is carried on from three sizes; one that jumps is on no law, and without a figure.
trace() { # size of the program, bytes of two calls
    printf '{"segments":[{"device":0,"address":1099511627776,"total_size":%s,"allocated_size":0,"active_size":0,"requested_size":0,"stream":0,"segment_type":"large","is_expandable":false,"blocks":[{"address":1099511627776,"size":%s,"requested_size":0,"state":"inactive","frames":[]}],"frames":[]}],"device_traces":[[' "$4" "$4"
    printf '{"action":"segment_alloc","addr":1099511627776,"size":%s,"stream":0,"frames":[]},' "$4"
    printf '{"action":"alloc","addr":1099511627776,"size":%s,"stream":0,"frames":[{"filename":"a.py","line":1,"name":"attend"}]},' "$2"
    printf '{"action":"free_requested","addr":1099511627776,"size":%s,"stream":0,"frames":[]},{"action":"free_completed","addr":1099511627776,"size":%s,"stream":0,"frames":[]},' "$2" "$2"
    printf '{"action":"alloc","addr":1099511627776,"size":%s,"stream":0,"frames":[{"filename":"a.py","line":2,"name":"pick"}]},' "$3"
    printf '{"action":"free_requested","addr":1099511627776,"size":%s,"stream":0,"frames":[]},{"action":"free_completed","addr":1099511627776,"size":%s,"stream":0,"frames":[]}]]}' "$3" "$3"
}
trace 1 12582912 11534336 12582912 >1.json
trace 2 50331648 11534336 50331648 >2.json
trace 3 113246208 11534336 113246208 >3.json
"$MEMTOOL" fit --what seq --sizes 1,2,3 --predict 10 1.json 2.json 3.json
trace 2 50331648 40000000 50331648 >2.json
"$MEMTOOL" fit --what seq --sizes 1,2,3 --predict 10 1.json 2.json 3.json
