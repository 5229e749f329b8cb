"""Finds the CUDA source in a Python file that compiles it with PyTorch's load_inline, and how the file calls it.

usage: FILE ENTRY OPERATOR

ENTRY is a class with a method `forward` that takes the inputs (ModelNew of KernelBench), or a function that takes them,
or one tuple of them and of the memory for the results (custom_kernel of GPU MODE). OPERATOR is JSON: "ranks" is the
number of dimensions of each input, "scalars" has the name and the usual value of each scalar, "dim" is the dimension of
the first input that the result lacks, or the last one. Prints a line of JSON:

    source     [[line, text], ...]: the parts of the CUDA source, with the line of the file where each begins
    call       the call in C++, whose tensors are in0, in1, ... and out0, ...
    scalars    the scalars of the operator that the call takes
    returns    whether the result is what the call returns; else the call writes it into out0
    zeroed     whether out0 holds zeros before the call
    empty      the conditions, in C++, under which the entry returns 0 without the call

or {"error": sentence}. The file is read and never run, so nothing needs PyTorch. What is done beside the one call is
refused: a result that is changed afterwards is not the kernel's. Functions of the file that do no more are read, too.

Inputs that `forward` does not take are the model's own tensors (nn.Parameter, and the weight and bias of a module), in
the order in which `__init__` makes them. A parameter of `forward` with the name of a scalar is that scalar. A parameter
of `__init__` that the call takes is the scalar of that name, or the one with that usual value; otherwise it has the
value of get_init_inputs(), or its default. Without one, `dim` and `axis` are the operator's dimension: most files leave
get_init_inputs() to the file of the problem.
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


SAME = ("contiguous", "cuda", "float", "detach", "to")  # a tensor of f32 on the device keeps its values
F32 = ("torch.float32", "torch.float")
UNCHANGED = (*F32, "'cuda'", "torch.device('cuda')")  # what `to` may take
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


def defaults(function):
    """The default of each parameter of a function that has one."""
    arguments = function.args.args
    return {a.arg: d for a, d in zip(arguments[len(arguments) - len(function.args.defaults) :], function.args.defaults)}


class Model:
    """What `__init__` of a class makes: its attributes, its own tensors, and the values of the parameters."""

    def __init__(self, methods=(), init_inputs=()):
        self.attributes, self.tensors, self.parameters = {}, [], {}
        init = next((m for m in methods if m.name == "__init__"), None)
        if init is None:
            return
        given = dict(zip([a.arg for a in init.args.args[1:]], init_inputs))
        self.parameters = {a.arg: given.get(a.arg, defaults(init).get(a.arg)) for a in init.args.args[1:]}
        for node in ast.walk(init):
            if isinstance(node, ast.Assign) and self.is_own(node.targets[0]):
                self.attributes[node.targets[0].attr] = node.value
        for name, node in self.attributes.items():
            made = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
            if made.endswith("nn.Parameter") or made == "Parameter":
                self.tensors.append(f"self.{name}")
            elif re.match(r"(torch\.)?nn\.[A-Z]", made):
                self.tensors += [f"self.{name}.weight", f"self.{name}.bias"]

    @staticmethod
    def is_own(node):
        return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"

    def attribute(self, node):
        """The expression that `__init__` gives to self.X, or the node itself."""
        return self.attributes.get(node.attr, node) if self.is_own(node) else node


def entry_of(tree, name):
    """The function that makes the call, its parameters, and the methods of its class."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return node, [a.arg for a in node.args.args], []
        if isinstance(node, ast.ClassDef) and node.name == name:
            methods = [m for m in node.body if isinstance(m, ast.FunctionDef)]
            for method in methods:
                if method.name == "forward":
                    return method, [a.arg for a in method.args.args[1:]], methods
            raise Refused(f"class {name} has no method forward")
    raise Refused(f"it defines no '{name}'")


class Reader:
    """Reads the statements of the entry, of which one is the call."""

    def __init__(self, known, operator, parameters, model, names=None, functions=None):
        self.known, self.operator, self.parameters, self.model = known, operator, parameters, model
        self.inputs = inputs = len(operator["ranks"])
        self.names, self.functions = names or {}, functions or {}  # of the file
        self.tensors, self.sizes = {}, {}  # names: of tensors in C++, and of expressions of sizes
        self.shapes = {}  # names of shapes, with their tensors
        self.empty, self.scalars = [], []
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
        if isinstance(node, ast.Attribute):
            return self.tensors.get(ast.unparse(node).removesuffix(".data"))
        if self.is_same_values(node):
            return self.tensor(node.func.value)
        method = getattr(node.func, "attr", "") if isinstance(node, ast.Call) else ""
        if method in ("view", "reshape"):
            tensor = self.tensor(node.func.value)
            return tensor and f"{tensor}.view({{{', '.join(self.size(a) for a in node.args)}}})"
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id == self.tuple:
            try:
                return self.element(int(ast.literal_eval(node.slice)))
            except (ValueError, TypeError):
                return None
        return None

    def shaped(self, node):
        """The tensor whose shape the expression is, or None."""
        if isinstance(node, ast.Name):
            return self.shapes.get(node.id)
        return self.tensor(node.value) if isinstance(node, ast.Attribute) and node.attr == "shape" else None

    def is_same_values(self, node):
        """True if the expression is a call of a method that leaves a tensor of f32 on the device as it is."""
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr not in SAME:
            return False
        given = [ast.unparse(a) for a in [*node.args, *(k.value for k in node.keywords)]]
        return node.func.attr != "to" or all(g in UNCHANGED or g.endswith((".device", ".dtype")) for g in given)

    def parameter(self, name, node):
        """A parameter of `__init__` as a number in C++: a scalar of the operator, or its value in the file."""
        given = self.model.parameters[name]
        try:
            known = None if given is None else value(given, self.names)
        except Unknown:
            known = None
        usual = [s for s, v in self.operator["scalars"].items() if isinstance(known, float) and v == known]
        scalar = name if name in self.operator["scalars"] else usual[0] if len(usual) == 1 else None
        if scalar:
            self.scalars.append(scalar)
            return scalar
        if known is None and name in ("dim", "axis"):
            return str(self.operator["dim"])
        if not isinstance(known, (bool, int, float)):
            self.refuse(node, f"is the parameter '{name}' of __init__, whose value get_init_inputs() must return")
        return str(known).lower()

    def size(self, node):
        """A number in C++."""
        if isinstance(node, ast.Constant) and isinstance(node.value, (bool, int, float)):
            return str(node.value).lower()
        if self.model.is_own(node) and self.model.attribute(node) is not node:
            given = self.model.attribute(node)
            is_parameter = isinstance(given, ast.Name) and given.id in self.model.parameters
            return self.parameter(given.id, node) if is_parameter else self.size(given)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("int", "float", "bool"):
            return self.size(node.args[0]) if len(node.args) == 1 else self.refuse(node)
        if isinstance(node, ast.Name) and node.id in self.sizes:
            return self.sizes[node.id]
        if isinstance(node, ast.Name) and node.id in self.names and node.id not in self.tensors:
            return self.size(self.names[node.id])
        if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
            return f"({self.size(node.left)} {OPERATORS[type(node.op)]} {self.size(node.right)})"
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return f"-{self.size(node.operand)}"
        if isinstance(node, ast.Subscript) and (tensor := self.shaped(node.value)):
            return f"{tensor}.size({self.size(node.slice)})"
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            tensor = self.tensor(node.func.value)
            if node.func.attr == "cdiv" and len(node.args) == 2:
                a, b = (self.size(e) for e in node.args)
                return f"(({a} + {b} - 1) / {b})"
            if tensor and node.func.attr == "data_ptr" and not node.args:
                return f"reinterpret_cast<uintptr_t>({tensor}.data_ptr())"
            takes = node.func.attr in ("size", "stride")
            if tensor and node.func.attr in ("size", "stride", "numel", "dim") and len(node.args) == takes:
                return f"{tensor}.{node.func.attr}({', '.join(self.size(a) for a in node.args)})"
        return self.refuse(node, "is neither a tensor of the call nor a size of one")

    def called(self, node):
        """True if the expression is the call of a function of load_inline."""
        if not isinstance(node, ast.Call):
            return False
        function = self.model.attribute(node.func)
        if isinstance(function, ast.Name) and function.id not in self.functions:
            function = self.names.get(function.id, function)  # f = module.function
        name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        found = [e for e in self.known if name in e["functions"]]
        if not found or (isinstance(function, ast.Attribute) and self.tensor(function.value)):
            return False
        if self.call or node.keywords or len(found) > 1:
            self.refuse(node, "is a second call" if self.call else "is not understood")
        self.extension = found[0]
        arguments = [self.tensor(a) or self.size(a) for a in node.args]
        self.call = f"{self.extension['functions'][name]}({', '.join(arguments)})"
        return True

    def helper(self, node):
        """True if the expression is the call of a function of the file that calls one of load_inline, or `apply` of a
        torch.autograd.Function. The statements of that function are read with their own names."""
        name = ast.unparse(self.model.attribute(node.func)) if isinstance(node, ast.Call) else None
        if name not in self.functions or node.keywords or self.call:
            return False
        function = self.functions[name]
        parameters = [a.arg for a in function.args.args if a.arg != "ctx"]
        if len(parameters) != len(node.args):
            return False
        others = {n: f for n, f in self.functions.items() if n != name}
        inner = Reader(self.known, self.operator, [], Model(), self.names, others)
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
        self.scalars += inner.scalars
        self.made, self.zeroed, self.is_written = inner.made, inner.zeroed, inner.result is False
        return True

    def is_no_concern(self, node):
        """True of a source, and of what compiles it."""
        if isinstance(node, (ast.Constant, ast.JoinedStr)):
            return not isinstance(getattr(node, "value", ""), (int, float))
        return isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] == "load_inline"

    def known_number(self, node):
        """The value of a number that follows from the file and the operator alone, or None."""
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "len" and len(node.args) == 1:
            tensor = self.shaped(node.args[0])
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "dim":
            tensor = self.tensor(node.func.value)
        elif isinstance(node, ast.Attribute) and node.attr == "ndim":
            tensor = self.tensor(node.value)
        else:
            taken = list(self.scalars)
            try:
                return float(self.size(node))
            except (Refused, ValueError):
                return None
            finally:
                self.scalars = taken
        is_input = tensor is not None and re.fullmatch(r"in\d+", tensor)
        return float(self.operator["ranks"][int(tensor[2:])]) if is_input else None

    def condition(self, node):
        """True or False if the condition is so in every call (tensors of f32 on the device without gaps), or None."""
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            inner = self.condition(node.operand)
            return None if inner is None else not inner
        if isinstance(node, ast.BoolOp):
            decisive = isinstance(node.op, ast.Or)
            known = [self.condition(v) for v in node.values]
            return decisive if decisive in known else None if None in known else not decisive
        if isinstance(node, ast.Attribute) and node.attr == "is_cuda" and self.tensor(node.value):
            return True
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "is_contiguous":
            return True if self.tensor(node.func.value) else None
        if not isinstance(node, ast.Compare) or len(node.ops) > 1:
            return None
        left, operator, right = node.left, node.ops[0], node.comparators[0]
        kind = ast.unparse(left).rpartition(".")[2] if isinstance(left, ast.Attribute) else ""
        wanted = {"dtype": F32, "type": ("'cuda'",)}.get(kind)
        if wanted and isinstance(operator, (ast.Eq, ast.NotEq)):
            owner = left.value.value if kind == "type" and isinstance(left.value, ast.Attribute) else left.value
            is_same = ast.unparse(right) in wanted
            return None if self.tensor(owner) is None else is_same == isinstance(operator, ast.Eq)
        compare = {ast.Eq: float.__eq__, ast.NotEq: float.__ne__, ast.Lt: float.__lt__, ast.LtE: float.__le__,
                   ast.Gt: float.__gt__, ast.GtE: float.__ge__}.get(type(operator))
        a, b = self.known_number(left), self.known_number(right)
        return None if compare is None or a is None or b is None else compare(a, b)

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
            if tensor := self.shaped(node):
                self.sizes.update({n: f"{tensor}.size({i})" for i, n in enumerate(names)})
                return
            if isinstance(node, ast.Call) and ast.unparse(node).endswith(".size()"):
                self.sizes.update({n: f"{self.tensor(node.func.value)}.size({i})" for i, n in enumerate(names)})
                return
        if not isinstance(target, ast.Name):
            self.refuse(node)
        name = target.id
        if self.is_no_concern(node):
            return
        if tensor := self.shaped(node):
            self.shapes[name] = tensor
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
            if self.is_for_others(s):
                continue
            elif isinstance(s, ast.Assign) and len(s.targets) == 1:
                self.bind(s.targets[0], s.value)
            elif isinstance(s, ast.AnnAssign) and s.value is not None:
                self.bind(s.target, s.value)
            elif isinstance(s, ast.Return) and s.value is not None:
                self.take_result(s)
            elif isinstance(s, ast.If) and not s.orelse and all(self.is_same(a) for a in s.body):
                continue
            elif isinstance(s, ast.If) and (is_so := self.condition(s.test)) is not None:
                self.read(s.body if is_so else s.orelse)
                if self.result is not None:
                    return
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

    @staticmethod
    def is_for_others(statement):
        """True of `ctx.save_for_backward(...)`, `ctx.name = ...` and `torch.backends.NAME = ...`."""
        if not isinstance(statement, (ast.Assign, ast.Expr)):
            return False
        kept = statement.targets[0] if isinstance(statement, ast.Assign) else statement.value
        kept = kept.func if isinstance(kept, ast.Call) else kept
        return isinstance(kept, ast.Attribute) and ast.unparse(kept).startswith(("ctx.", "torch.backends."))

    def is_same(self, statement):
        """True of `x = x.contiguous()`."""
        if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
            return False
        tensor = self.tensor(statement.value)
        return tensor is not None and tensor == self.tensors.get(statement.targets[0].id)

    def take_result(self, statement):
        node = statement.value
        while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr not in RESHAPED and not self.is_same_values(node):
                break
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


def init_inputs(tree):
    """The list that get_init_inputs() returns, as expressions."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == "get_init_inputs":
            returned = [s.value for s in node.body if isinstance(s, ast.Return)]
            if returned and isinstance(returned[-1], (ast.List, ast.Tuple)):
                return returned[-1].elts
    return []


def find(path, name, operator):
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
    entry, parameters, methods = entry_of(tree, name)
    fixed = defaults(entry) if len(parameters) > len(operator["ranks"]) else {}
    parameters = [p for p in parameters if p not in fixed]
    inputs, model = len(operator["ranks"]), Model(methods, init_inputs(tree))
    used = {ast.unparse(n) for n in ast.walk(entry) if isinstance(n, ast.Attribute)}
    own = [t for t in model.tensors if t in used]
    taken = [p for p in parameters if p in operator["scalars"]]
    parameters = [p for p in parameters if p not in taken]
    is_tuple = len(parameters) == 1 and not methods
    if len(parameters) + len(own) != inputs and not is_tuple:
        listed = ", ".join(parameters + own)
        raise Refused(f"{name} takes {len(parameters) + len(own)} inputs ({listed}), the operator has {inputs}")
    functions = {n.name: n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name != name}
    for cls in tree.body:
        if isinstance(cls, ast.ClassDef) and any(ast.unparse(b).endswith("Function") for b in cls.bases):
            functions.update({f"{cls.name}.apply": m for m in cls.body if getattr(m, "name", "") == "forward"})
    reader = Reader(extensions(tree, names), operator, parameters + own, model, names, functions)
    reader.sizes = {n: reader.size(d) for n, d in fixed.items()} | {s: s for s in taken}
    reader.scalars += taken
    reader.read(entry.body)
    if reader.call is None:
        called = sorted({f for e in reader.known for f in e["functions"]})
        raise Refused(f"{name} calls no function of load_inline ({', '.join(called) or 'none is listed'})")
    if reader.result is None:
        raise Refused(f"{name} returns nothing")
    source = reader.extension["source"]
    return {"source": source, "call": reader.call, "scalars": sorted(set(reader.scalars)),
            "returns": reader.result, "zeroed": reader.zeroed, "empty": reader.empty}


if __name__ == "__main__":
    try:
        print(json.dumps(find(sys.argv[1], sys.argv[2], json.loads(sys.argv[3]))))
    except Refused as e:
        print(json.dumps({"error": str(e)}))
