"""Finds the CUDA source in a Python file that compiles it with PyTorch's load_inline, and how the file calls it.

usage: FILE ENTRY INPUTS

ENTRY is a class with a method `forward` that takes the inputs (ModelNew of KernelBench), or a function that takes them,
or one tuple of them and of the memory for the results (custom_kernel of GPU MODE). INPUTS is their number. Prints a
line of JSON:

    source     [[line, text], ...]: the parts of the CUDA source, with the line of the file where each begins
    call       the call in C++, whose tensors are in0, in1, ... and out0, ...
    returns    whether the result is what the call returns; else the call writes it into out0
    zeroed     whether out0 holds zeros before the call
    empty      the conditions, in C++, under which the entry returns 0 without the call

or {"error": sentence}. The file is read and never run, so nothing needs PyTorch. What is done beside the one call is
refused: a result that is changed afterwards is not the kernel's. Functions of the file that do no more are read, too.
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


RESHAPED = ("squeeze", "unsqueeze", "view", "reshape", "flatten")  # a result of the same elements
COMPARISONS = {ast.Eq: "==", ast.Lt: "<", ast.LtE: "<="}
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

    def __init__(self, known, inputs, parameters, names=None, functions=None):
        self.known, self.inputs, self.parameters = known, inputs, parameters
        self.names, self.functions = names or {}, functions or {}  # of the file
        self.tensors, self.sizes = {}, {}  # names: of tensors in C++, and of expressions of sizes
        self.empty = []
        self.call = self.extension = self.returned = self.result = self.made = None
        self.zeroed = self.is_written = False  # is_written: by a helper, which returned out0
        if len(parameters) == inputs:
            self.tensors = {p: f"in{i}" for i, p in enumerate(parameters)}
        self.tuple = parameters[0] if len(parameters) == 1 else None

    def refuse(self, node, why="is not understood"):
        text = ast.unparse(node).splitlines()[0]
        raise Refused(f"line {node.lineno}: '{text}' {why}; the entry may only call one function of load_inline")

    def element(self, i):
        if i == -1:
            return "out0"
        return f"in{i}" if i < self.inputs else f"out{i - self.inputs}"

    def tensor(self, node):
        """The name in C++ of a tensor that an expression is, or None."""
        if isinstance(node, ast.Name):
            return self.tensors.get(node.id)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in SAME:
            if node.func.attr != "to" or ast.unparse(node).endswith((".to(torch.float32)", ".to('cuda')")):
                return self.tensor(node.func.value)
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id == self.tuple:
            try:
                return self.element(int(ast.literal_eval(node.slice)))
            except (ValueError, TypeError):
                return None
        return None

    def size(self, node):
        """A number in C++."""
        if isinstance(node, ast.Constant) and isinstance(node.value, (bool, int, float)):
            return str(node.value).lower()
        if isinstance(node, ast.Name) and node.id in self.sizes:
            return self.sizes[node.id]
        if isinstance(node, ast.Name) and node.id in self.names and node.id not in self.tensors:
            return self.size(self.names[node.id])
        if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
            return f"({self.size(node.left)} {OPERATORS[type(node.op)]} {self.size(node.right)})"
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return f"-{self.size(node.operand)}"
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
            if tensor := self.tensor(node.value.value):
                return f"{tensor}.size({self.size(node.slice)})"
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            tensor = self.tensor(node.func.value)
            if node.func.attr == "cdiv" and len(node.args) == 2:
                a, b = (self.size(e) for e in node.args)
                return f"(({a} + {b} - 1) / {b})"
            if tensor and node.func.attr == "data_ptr" and not node.args:
                return f"reinterpret_cast<uintptr_t>({tensor}.data_ptr())"
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

    def helper(self, node):
        """True if the expression is the call of a function of the file that calls one of load_inline. The statements of
        that function are read with their own names."""
        name = getattr(getattr(node, "func", None), "id", None)
        if name not in self.functions or node.keywords or self.call:
            return False
        function = self.functions[name]
        parameters = [a.arg for a in function.args.args]
        if len(parameters) != len(node.args):
            return False
        inner = Reader(self.known, self.inputs, [], self.names, {n: f for n, f in self.functions.items() if n != name})
        for parameter, given in zip(parameters, node.args):
            if tensor := self.tensor(given):
                inner.tensors[parameter] = tensor
            elif isinstance(given, ast.Name) and given.id == self.tuple:
                inner.tuple = parameter
            else:
                inner.sizes[parameter] = self.size(given)
        inner.made, inner.zeroed = self.made, self.zeroed
        inner.read(function.body)
        if inner.call is None:
            self.refuse(node, "calls no function of load_inline")
        self.call, self.extension, self.empty = inner.call, inner.extension, self.empty + inner.empty
        self.made, self.zeroed, self.is_written = inner.made, inner.zeroed, inner.result is False
        return True

    def is_no_concern(self, node):
        """True of a source, and of what compiles it."""
        if isinstance(node, (ast.Constant, ast.JoinedStr)):
            return not isinstance(getattr(node, "value", ""), (int, float))
        return isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] == "load_inline"

    def is_guard(self, statement):
        """True of `if CONDITION: raise ...`, and of `if SIZE == 0: return 0`, which is kept."""
        if statement.orelse or len(statement.body) != 1:
            return False
        only, test = statement.body[0], statement.test
        if isinstance(only, ast.Raise):
            return True
        is_zero = isinstance(only, ast.Return) and (
            (isinstance(only.value, ast.Constant) and only.value.value == 0)
            or (isinstance(only.value, ast.Call) and ast.unparse(only.value.func) == "torch.zeros")
        )
        if not is_zero or not isinstance(test, ast.Compare) or type(test.ops[0]) not in COMPARISONS:
            return False
        if len(test.ops) > 1:
            return False
        operator = COMPARISONS[type(test.ops[0])]
        self.empty.append(f"{self.size(test.left)} {operator} {self.size(test.comparators[0])}")
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
        if self.is_no_concern(node):
            return
        if self.called(node) or self.helper(node):
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
            elif isinstance(s, ast.If) and self.is_guard(s):
                continue
            elif isinstance(s, (ast.Assert, ast.Pass, ast.Global, ast.Import, ast.ImportFrom)):
                continue
            elif isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant):
                continue
            elif isinstance(s, ast.Expr) and (self.called(s.value) or self.helper(s.value)):
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
        while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in RESHAPED:
            node = node.func.value
        if self.called(node) or self.helper(node) or (isinstance(node, ast.Name) and node.id == self.returned):
            if self.made and not self.is_written:
                self.refuse(statement, f"returns something else than '{self.made}'")
            self.result = not self.is_written
        elif self.call and self.tensor(self.first_of(node)) == "out0":
            self.result = False
        else:
            self.refuse(statement, "returns something else than the call's result")

    def first_of(self, node):
        """The tensor of one element whose element 0 the expression is."""
        is_first = isinstance(node, ast.Subscript) and ast.unparse(node.slice) == "0"
        return node.value if is_first and ast.unparse(node.value) != self.tuple else node


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
    functions = {n.name: n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name != name}
    reader = Reader(extensions(tree, names), inputs, parameters, names, functions)
    reader.read(entry.body)
    if reader.call is None:
        called = sorted({f for e in reader.known for f in e["functions"]})
        raise Refused(f"{name} calls no function of load_inline ({', '.join(called) or 'none is listed'})")
    if reader.result is None:
        raise Refused(f"{name} returns nothing")
    source = reader.extension["source"]
    return {"source": source, "call": reader.call, "returns": reader.result, "zeroed": reader.zeroed,
            "empty": reader.empty}


if __name__ == "__main__":
    try:
        print(json.dumps(find(sys.argv[1], sys.argv[2], int(sys.argv[3]))))
    except Refused as e:
        print(json.dumps({"error": str(e)}))
