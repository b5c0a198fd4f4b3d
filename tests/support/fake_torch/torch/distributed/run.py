# SPDX-License-Identifier: MIT
"""Stands in for torchrun with one process: --standalone --nproc-per-node 1 PROGRAM [ARGUMENT...]"""
import os
import subprocess
import sys

environment = dict(os.environ, RANK="0", LOCAL_RANK="0", WORLD_SIZE="1")
sys.exit(subprocess.call([sys.executable] + sys.argv[4:], env=environment))
