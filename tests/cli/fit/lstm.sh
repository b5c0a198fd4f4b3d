# From batch 2, 3, 4 and 8: PyTorch reserved 1,918,894,080 bytes at batch 16 and 4,445,962,240 at 48.
cp "$TESTDATA"/fit/lstm_*.pickle.gz .
"$MEMTOOL" fit --what batch --sizes 2,3,4,8 --predict 16,48 lstm_2.pickle.gz lstm_3.pickle.gz lstm_4.pickle.gz lstm_8.pickle.gz
"$MEMTOOL" fit --csv --sizes 8,2,4 --predict 16,48 lstm_8.pickle.gz lstm_2.pickle.gz lstm_4.pickle.gz
echo "cuDNN's sizes are on a line that two recordings cannot confirm:"
"$MEMTOOL" fit --csv --sizes 8,4 --predict 16,48 lstm_8.pickle.gz lstm_4.pickle.gz
