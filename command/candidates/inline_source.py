"""Finds the CUDA source in a Python file that compiles it with PyTorch's load_inline, and how the file calls it.

usage: FILE ENTRY INPUTS

ENTRY is a class with a method `forward` that takes the inputs (ModelNew of KernelBench), or a function that takes them,
or one tuple of them and of the memory for the results (custom_kernel of GPU MODE). INPUTS is their number. Prints a
line of JSON:

    source     [[line, text], ...]: the parts of the CUDA source, with the line of the file where each begins
    call       the call in C++, whose tensors are in0, in1, ... and out0, ...
    returns    whether the result is what the call returns; else the call writes it into out0
    zeroed     whether out0 holds zeros before the call

or {"error": sentence}. The file is read and never run, so nothing needs PyTorch. What is done beside the one call is
refused: a result that is changed afterwards is not the kernel's.
"""
import ast
import json
import re
import sys
import textwrap


class Refused(Exception):
    pass


class Unknown(Exception):
    """An expression whose value does not follow from the file's text."""


SAME = ("contiguous", "cuda", "float", "detach", "to")  # an input of f32 on the device is left as it is
MADE = {"empty_like": False, "empty": False, "zeros_like": True, "zeros": True}  # memory for the result: is it zeroed


def value(node, names):
    """The value of an expression of constants."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name) and node.id in names:
        return value(names[node.id], {n: v for n, v in names.items() if n != node.id})
    if isinstance(node, (ast.List, ast.Tuple)):
        return [value(e, names) for e in node.elts]
    if isinstance(node, ast.JoinedStr):
        return "".join(str(value(v.value if isinstance(v, ast.FormattedValue) else v, names)) for v in node.values)
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        a, b = value(node.left, names), value(node.right, names)
        return a + b if isinstance(node.op, ast.Add) else number(node.op, a, b)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not node.keywords:
        arguments = [value(a, names) for a in node.args]
        if node.func.attr == "dedent":
            return textwrap.dedent(arguments[0])
        if node.func.attr in ("strip", "replace", "format"):
            return getattr(value(node.func.value, names), node.func.attr)(*arguments)
    raise Unknown(ast.unparse(node))


OPERATORS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "/"}


def number(operator, a, b):
    if isinstance(operator, ast.Sub):
        return a - b
    return a * b if isinstance(operator, ast.Mult) else a // b


def first_line(node, names):
    """The line of the file where the text of the expression begins, or 1 where it is put together."""
    while isinstance(node, ast.Name) and node.id in names:
        node = names[node.id]
    if isinstance(node, (ast.Constant, ast.JoinedStr)):
        return node.lineno
    return 1


def parts(node, names):
    """The sources that an argument of load_inline is or lists, each with its first line."""
    while isinstance(node, ast.Name) and node.id in names:
        node = names[node.id]
    elements = node.elts if isinstance(node, (ast.List, ast.Tuple)) else [node]
    return [[first_line(e, names), value(e, names)] for e in elements]


def extensions(tree, names):
    """What each load_inline of the file compiles: its sources, and its functions by the name that Python calls."""
    found = []
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call) or ast.unparse(call.func).split(".")[-1] != "load_inline":
            continue
        given = dict(zip(("name", "cpp_sources", "cuda_sources", "functions"), call.args))
        given.update({k.arg: k.value for k in call.keywords})
        try:
            cuda = parts(given["cuda_sources"], names) if "cuda_sources" in given else []
            cpp = parts(given["cpp_sources"], names) if "cpp_sources" in given else []
            listed = value(given["functions"], names) if "functions" in given else []
        except Unknown as e:
            why = f"the source is put together of '{e}', must be text of the file"
            raise Refused(f"line {call.lineno}: {why}") from None
        functions = {f: f for f in ([listed] if isinstance(listed, str) else listed or [])}
        text = "".join(t for _, t in cuda + cpp)
        functions.update(dict(re.findall(r'\bm\.def\(\s*"(\w+)"\s*,\s*&?\s*([\w:]+)', text)))
        if cuda:
            found.append({"source": cuda + cpp, "functions": functions})
    if not found:
        raise Refused("it calls no load_inline with cuda_sources")
    return found


def entry_of(tree, name):
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return node, [a.arg for a in node.args.args]
        if isinstance(node, ast.ClassDef) and node.name == name:
            for method in node.body:
                if isinstance(method, ast.FunctionDef) and method.name == "forward":
                    return method, [a.arg for a in method.args.args[1:]]
            raise Refused(f"class {name} has no method forward")
    raise Refused(f"it defines no '{name}'")


class Reader:
    """Reads the statements of the entry, of which one is the call."""

    def __init__(self, known, inputs, parameters):
        self.known, self.inputs, self.parameters = known, inputs, parameters
        self.tensors, self.sizes = {}, {}  # names: of tensors in C++, and of expressions of sizes
        self.call = self.extension = self.returned = self.result = self.made = None
        self.zeroed = False
        if len(parameters) == inputs:
            self.tensors = {p: f"in{i}" for i, p in enumerate(parameters)}
        self.tuple = parameters[0] if len(parameters) == 1 else None

    def refuse(self, node, why="is not understood"):
        text = ast.unparse(node).splitlines()[0]
        raise Refused(f"line {node.lineno}: '{text}' {why}; the entry may only call one function of load_inline")

    def element(self, i):
        return f"in{i}" if i < self.inputs else f"out{i - self.inputs}"

    def tensor(self, node):
        """The name in C++ of a tensor that an expression is, or None."""
        if isinstance(node, ast.Name):
            return self.tensors.get(node.id)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in SAME:
            if node.func.attr != "to" or ast.unparse(node).endswith((".to(torch.float32)", ".to('cuda')")):
                return self.tensor(node.func.value)
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id == self.tuple:
            if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, int):
                return self.element(node.slice.value)
        return None

    def size(self, node):
        """A number in C++."""
        if isinstance(node, ast.Constant) and isinstance(node.value, (bool, int, float)):
            return str(node.value).lower()
        if isinstance(node, ast.Name) and node.id in self.sizes:
            return self.sizes[node.id]
        if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
            return f"({self.size(node.left)} {OPERATORS[type(node.op)]} {self.size(node.right)})"
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return f"-{self.size(node.operand)}"
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
            if tensor := self.tensor(node.value.value):
                return f"{tensor}.size({self.size(node.slice)})"
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            tensor = self.tensor(node.func.value)
            if tensor and node.func.attr in ("size", "numel", "dim") and len(node.args) == (node.func.attr == "size"):
                return f"{tensor}.{node.func.attr}({', '.join(self.size(a) for a in node.args)})"
        return self.refuse(node, "is neither a tensor of the call nor a size of one")

    def called(self, node):
        """True if the expression is the call of a function of load_inline."""
        if not isinstance(node, ast.Call):
            return False
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        found = [e for e in self.known if name in e["functions"]]
        if not found or (isinstance(node.func, ast.Attribute) and self.tensor(node.func.value)):
            return False
        if self.call or node.keywords or len(found) > 1:
            self.refuse(node, "is a second call" if self.call else "is not understood")
        self.extension = found[0]
        arguments = [self.tensor(a) or self.size(a) for a in node.args]
        self.call = f"{self.extension['functions'][name]}({', '.join(arguments)})"
        return True

    def bind(self, target, node):
        if isinstance(target, (ast.Tuple, ast.List)) and all(isinstance(e, ast.Name) for e in target.elts):
            names = [e.id for e in target.elts]
            if isinstance(node, ast.Name) and node.id == self.tuple:
                self.tensors.update({n: self.element(i) for i, n in enumerate(names)})
                return
            if isinstance(node, ast.Attribute) and node.attr == "shape" and self.tensor(node.value):
                self.sizes.update({n: f"{self.tensor(node.value)}.size({i})" for i, n in enumerate(names)})
                return
            if isinstance(node, ast.Call) and ast.unparse(node).endswith(".size()"):
                self.sizes.update({n: f"{self.tensor(node.func.value)}.size({i})" for i, n in enumerate(names)})
                return
        if not isinstance(target, ast.Name):
            self.refuse(node)
        name = target.id
        if self.called(node):
            self.returned = name
            self.tensors.pop(name, None)
        elif tensor := self.tensor(node):
            self.tensors[name] = tensor
        elif isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in MADE:
            if self.made or self.call:
                self.refuse(node, "is memory beside that of the result")
            self.made, self.tensors[name] = name, "out0"
            self.zeroed = MADE[ast.unparse(node.func).split(".")[-1]]
        else:
            self.sizes[name] = self.size(node)

    def read(self, statements):
        for s in statements:
            if self.result is not None:
                self.refuse(s)
            if isinstance(s, ast.Assign) and len(s.targets) == 1:
                self.bind(s.targets[0], s.value)
            elif isinstance(s, ast.AnnAssign) and s.value is not None:
                self.bind(s.target, s.value)
            elif isinstance(s, ast.Return) and s.value is not None:
                self.take_result(s)
            elif isinstance(s, ast.If) and not s.orelse and all(self.is_same(a) for a in s.body):
                continue
            elif isinstance(s, (ast.Assert, ast.Pass, ast.Global, ast.Import, ast.ImportFrom)):
                continue
            elif isinstance(s, ast.Expr) and (isinstance(s.value, ast.Constant) or self.called(s.value)):
                continue
            else:
                self.refuse(s)

    def is_same(self, statement):
        """True of `x = x.contiguous()`."""
        if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
            return False
        tensor = self.tensor(statement.value)
        return tensor is not None and tensor == self.tensors.get(statement.targets[0].id)

    def take_result(self, statement):
        node = statement.value
        if self.called(node) or (isinstance(node, ast.Name) and node.id == self.returned):
            if self.made:
                self.refuse(statement, f"returns something else than '{self.made}'")
            self.result = True
        elif isinstance(node, ast.Name) and self.tensors.get(node.id) == "out0" and self.call:
            self.result = False
        else:
            self.refuse(statement, "returns something else than the call's result")


def find(path, name, inputs):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    try:
        tree = ast.parse(text)
    except SyntaxError as e:
        raise Refused(f"line {e.lineno}: {e.msg}") from None
    names = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            names.setdefault(node.targets[0].id, node.value)
    entry, parameters = entry_of(tree, name)
    if len(parameters) not in (1, inputs):
        raise Refused(f"{name} takes {len(parameters)} inputs ({', '.join(parameters)}), the operator has {inputs}")
    reader = Reader(extensions(tree, names), inputs, parameters)
    reader.read(entry.body)
    if reader.call is None:
        called = sorted({f for e in reader.known for f in e["functions"]})
        raise Refused(f"{name} calls no function of load_inline ({', '.join(called) or 'none is listed'})")
    if reader.result is None:
        raise Refused(f"{name} returns nothing")
    source = reader.extension["source"]
    return {"source": source, "call": reader.call, "returns": reader.result, "zeroed": reader.zeroed}


if __name__ == "__main__":
    try:
        print(json.dumps(find(sys.argv[1], sys.argv[2], int(sys.argv[3]))))
    except Refused as e:
        print(json.dumps({"error": str(e)}))
