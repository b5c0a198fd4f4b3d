# SPDX-License-Identifier: MIT
from . import optimizer
from .optimizer import AdamW, Optimizer

del optimizer  # as PyTorch does: the module is in sys.modules, but not here
