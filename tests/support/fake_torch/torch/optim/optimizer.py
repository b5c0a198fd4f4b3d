# SPDX-License-Identifier: MIT
"""Steps with hooks of all optimizers, which as in PyTorch may not change while they are called."""
import collections

hooks = collections.OrderedDict()


class Handle:
    def __init__(self, hook):
        hooks[id(self)] = hook

    def remove(self):
        del hooks[id(self)]


def register_optimizer_step_post_hook(hook):
    return Handle(hook)


class Optimizer:
    state = {}

    def step(self):
        for hook in hooks.values():
            hook(self)


class AdamW:
    def __init__(self, parameters):
        from torch import Tensor

        self.moments = [Tensor(8 << 20) for _ in parameters]

    def zero_grad(self):
        pass

    step = zero_grad
