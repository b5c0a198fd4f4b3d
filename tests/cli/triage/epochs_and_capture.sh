# A table of epochs rises an epoch, not a step; in a capture of CUDA graphs nothing is given back.
cat >epochs.log <<'END'
      Epoch    GPU_mem   box_loss   cls_loss   dfl_loss  Instances       Size
      1/100      4.11G      1.502      2.401      1.210        120        640: 100%|##########| 500/500
      2/100      8.21G      1.402      2.101      1.200        118        640: 100%|##########| 500/500
      3/100      12.3G      1.382      1.901      1.190         99        640: 100%|##########| 500/500
      4/100      16.4G      1.352      1.801      1.180        101        640: 100%|##########| 500/500
      5/100      20.5G      1.332      1.751      1.170        101        640:  42%|####      | 210/500
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 200.00 MiB. GPU 0 has a total capacity of 23.64 GiB of which 150.00 MiB is free. Including non-PyTorch memory, this process has 23.40 GiB memory in use. Of the allocated memory 21.90 GiB is allocated by PyTorch, and 1.02 GiB is reserved by PyTorch but unallocated.
END
cat >capture.log <<'END'
  File "/srv/app/cuda_graph_runner.py", line 269, in __init__
Exception: Capture cuda graph failed: CUDA out of memory. Tried to allocate 448.00 MiB. GPU 7 has a total capacity of 95.00 GiB
END
"$MEMTOOL" triage epochs.log | sed -n '/^VERDICT/,/^FIRST/p'
"$MEMTOOL" triage -v capture.log | sed -n '/^VERDICT/,/TO BE SURE/p'
