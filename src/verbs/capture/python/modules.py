# SPDX-License-Identifier: MIT
"""Labels every allocation with the nn.Module that it is made for: capture --modules.

Forward: hooks that PyTorch calls around each module. Backward: when the output of a module is made,
its node of autograd is told to set that module's name before it runs; what a module was given gets
the name of the module around it. No hook changes a value, a gradient or the graph, as the backward
hooks of nn.Module would, which put a view behind each output. Nothing here may raise into the program.
"""
import sys
import threading
import weakref

PREFIX = "module "


class Labels:
    def __init__(self, torch, put, get=None):
        self.put = put  # of the calling thread: the label of what it allocates from now on
        self.get = get
        self.torch = torch
        self.names = {}  # id -> (weak reference, label)
        self.local = threading.local()
        module = torch.nn.modules.module
        module.register_module_forward_pre_hook(self.enter)
        try:
            module.register_module_forward_hook(self.leave, always_call=True)
        except TypeError:  # before 2.0
            module.register_module_forward_hook(self.leave)
        optimizer = sys.modules.get("torch.optim.optimizer")  # torch.optim deletes its own name of it
        if hasattr(optimizer, "register_optimizer_step_pre_hook"):
            optimizer.register_optimizer_step_pre_hook(self.step_begins)
            optimizer.register_optimizer_step_post_hook(self.step_ends)

    # ---- names ----

    def label(self, module, above):
        known = self.names.get(id(module))
        if known is not None and known[0]() is module:
            return known[1]
        root = type(module).__name__ if above is None else above[len(PREFIX):] + "." + type(module).__name__
        self.name_all(module, root)
        return self.names[id(module)][1]

    def name_all(self, root, name):
        """The root's name stands in front of those that PyTorch gives to what is in it."""
        for path, module in root.named_modules():
            known = self.names.get(id(module))
            if known is None or known[0]() is not module:
                text = PREFIX + (name + "." + path if path else name)
                self.names[id(module)] = (weakref.ref(module), text)

    # ---- forward ----

    def stack(self):
        try:
            return self.local.stack
        except AttributeError:
            self.local.stack = []
            return self.local.stack

    def enter(self, module, given):
        try:
            stack = self.stack()
            if stack:
                above = stack[-1]
            else:
                above = None
                self.local.before = self.get() if self.get else ""
            label = self.label(module, above)
            if above is not None:
                for value in given:
                    self.mark(value, above)
            stack.append(label)
            self.put(label)
        except Exception:
            pass

    def leave(self, module, given, made):
        try:
            stack = self.stack()
            if not stack:
                return
            label = stack.pop()
            self.mark_all(made, label, 0)
            self.put(stack[-1] if stack else self.local.before)
        except Exception:
            pass

    # ---- backward ----

    def mark_all(self, made, label, depth):
        if isinstance(made, (tuple, list)) and depth < 3:
            for value in made:
                self.mark_all(value, label, depth + 1)
        elif isinstance(made, dict) and depth < 3:
            for value in made.values():
                self.mark_all(value, label, depth + 1)
        else:
            self.mark(made, label)

    def mark(self, value, label):
        """The first name counts: that of the innermost module."""
        node = getattr(value, "grad_fn", None)
        if node is None or "memtool" in node.metadata:
            return
        node.metadata["memtool"] = True
        put = self.put

        def before(gradients):
            put(label)

        node.register_prehook(before)

    # ---- the optimizer ----

    def step_begins(self, optimizer, *ignored):
        try:
            self.local.outside = self.get() if self.get else ""
            self.put("optimizer " + type(optimizer).__name__)
        except Exception:
            pass

    def step_ends(self, optimizer, *ignored):
        try:
            self.put(self.local.outside)
        except Exception:
            pass


def use(torch, library=None):
    """Switches it on. `library`: memtool's allocator, where it serves PyTorch."""
    if library is not None:
        return Labels(torch, lambda text: library.memtool_label(text.encode()))
    put = getattr(torch._C, "_cuda_setMemoryMetadata", None)
    if put is None:
        raise RuntimeError("this PyTorch keeps no labels of allocations; 2.10 and later do")
    return Labels(torch, put, getattr(torch._C, "_cuda_getMemoryMetadata", None))
