# SPDX-License-Identifier: MIT
"""capture --modules without PyTorch: the hooks of src/verbs/capture/python/modules.py, called as PyTorch
calls them, forward, backward and after an exception. Takes that file; prints nothing when all is well."""
import importlib.util
import sys
import types

sys.dont_write_bytecode = True
spec = importlib.util.spec_from_file_location("memtool_modules", sys.argv[1])
modules = importlib.util.module_from_spec(spec)
spec.loader.exec_module(modules)

hooks, label = {}, [""]


class Node:
    def __init__(self):
        self.metadata, self.before = {}, []

    def register_prehook(self, hook):
        self.before.append(hook)

    def run(self):
        for hook in self.before:
            assert hook(()) is None
        return label[0]


class Value:
    def __init__(self, node):
        self.grad_fn = node


class Module:
    def __init__(self, **children):
        self.__dict__.update(children)
        self.children = children

    def named_modules(self, prefix=""):
        yield prefix, self
        for name, child in self.children.items():
            yield from child.named_modules(prefix + "." + name if prefix else name)

    def __call__(self, value):
        hooks["pre"](self, (value,))
        made = None
        try:
            made = self.forward(value)
        finally:
            hooks["post"](self, (value,), made)
        return made


class Leaf(Module):
    def forward(self, value):
        self.seen = label[0]
        return (Value(Node()), None, {"x": Value(Node())})


class Net(Module):
    def forward(self, value):
        self.before = label[0]
        first = self.a(value)[0]
        self.between = label[0]
        residual = Value(Node())
        second = self.b(residual)[0]
        self.nodes = first.grad_fn, residual.grad_fn, second.grad_fn
        return second


class Bad(Module):
    def forward(self, value):
        raise ValueError


def register(name):
    return lambda hook, **words: hooks.__setitem__(name, hook)


torch = types.SimpleNamespace(
    _C=types.SimpleNamespace(_cuda_setMemoryMetadata=lambda text: label.__setitem__(0, text),
                             _cuda_getMemoryMetadata=lambda: label[0]),
    nn=types.SimpleNamespace(modules=types.SimpleNamespace(module=types.SimpleNamespace(
        register_module_forward_pre_hook=register("pre"), register_module_forward_hook=register("post")))),
    optim=types.SimpleNamespace())  # torch.optim ends with "del optimizer"
sys.modules["torch.optim.optimizer"] = types.SimpleNamespace(
    register_optimizer_step_pre_hook=register("step"), register_optimizer_step_post_hook=register("stepped"))
modules.use(torch)
label[0] = "mine"
net = Net(a=Leaf(), b=Leaf())
net(Value(None))
assert (net.before, net.between) == ("module Net", "module Net"), (net.before, net.between)
assert (net.a.seen, net.b.seen) == ("module Net.a", "module Net.b")
assert label[0] == "mine", label
assert [n.run() for n in net.nodes] == ["module Net.a", "module Net", "module Net.b"]
assert all(len(n.before) == 1 for n in net.nodes)
label[0] = ""
try:
    Net(a=Bad(), b=Leaf())(Value(None))
except ValueError:
    pass
assert label[0] == "", label
hooks["step"](Leaf())
assert label[0] == "optimizer Leaf"
hooks["stepped"](Leaf())
assert label[0] == ""
outside = Leaf()
net.b.forward = lambda value: outside(value)
net(Value(None))
assert outside.seen == "module Net.b.Leaf", outside.seen
torch._C._cuda_setMemoryMetadata = None
try:
    modules.use(torch)
    raise AssertionError("an old PyTorch was not refused")
except RuntimeError as error:
    assert "2.10" in str(error)
