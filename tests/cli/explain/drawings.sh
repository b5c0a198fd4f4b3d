for t in allocation free allocated expandable-segment fragmentation peak inactive_split; do "$MEMTOOL" explain $t; done
