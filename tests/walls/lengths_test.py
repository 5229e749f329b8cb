#!/usr/bin/env python3
"""Holds the tree to lines of at most 120 characters, functions of at most 60 lines and files of at most 600.

    lengths_test.py SOURCE_FOLDER

C++, CUDA, Python, shell and CMake, from the line of a function's name to its last one. A lambda counts as a part of the
function it stands in. A table at file level is no function, so it may be longer.

Lines are those of programs, of the parts of a page, of workflows and of texts that begin with a C++ comment. Everything
else is data, whose lines are as long as what they say; of the lists in ci/ the comments count. Documents have a test of
their own (prose_test.py).
"""
import ast
import os
import re
import sys
import unittest

WIDTH = 120
FUNCTION = 60
FILE = 600
LEFT_OUT = {"build"}
CPP = (".cpp", ".hpp", ".cu", ".cuh", ".h")
PAGES = (".html", ".css", ".js", ".yml", ".yaml")
# Text, comments first: what is in it neither opens nor ends anything.
TEXT = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\'|'
                  r"^[ \t]*#(?:\\\n|[^\n])*", re.DOTALL | re.MULTILINE)
SCOPE = re.compile(r"\b(?:namespace|class|struct|union|enum|extern)\b[^()=]*$")
LAMBDA = re.compile(r"\[[^\[\]]*\]\s*(?:\([^{}]*\))?[^(){}=]*$")
SIGNATURE = re.compile(r"((?:operator\s*(?:\(\)|[^\s\w(]+)|[~\w]+(?:<[^<>()]*>)?))\s*\(")
ATTRIBUTE = re.compile(r"__launch_bounds__\s*\([^()]*(?:\([^()]*\)[^()]*)*\)|"
                       r"alignas\s*\([^()]*\)|decltype\s*\([^()]*\)")
INITIALIZER = re.compile(r"\)[^():]*:(?!:)")  # after a constructor's arguments: `member{...}` is no body


def blank(match):
    return re.sub(r"[^\n]", " ", match.group())


def is_value(start):
    """Whether the brace after `start` holds a value: an argument, or a member of a constructor."""
    return bool(re.search(r"[(,=]\s*$", start) or (INITIALIZER.search(start) and re.search(r"[\w>]\s*$", start)))


def function_of(start, text, head):
    """The name and line of the function whose body begins after `start`, a statement at `head`; None: there is none."""
    signature = SIGNATURE.search(start)
    found = LAMBDA.search(start)
    if is_value(start) or SCOPE.search(start):
        return None
    if not found and (not signature or re.search(r"=[^=].*\(", start[:signature.end()])):
        return None
    name = "lambda" if found else signature.group(1)
    return name, text.count("\n", 0, head + (found or signature).start()) + 1


def cpp_functions(text):
    """Name, first and last line of each function; braces say where it ends."""
    text = TEXT.sub(blank, text)
    # Of each open one: the name and first line of the function it begins, or None; whether it holds a value.
    braces = []
    head = 0  # where the statement before a brace begins
    for mark in re.finditer(r"[{};]", text):
        at = mark.start()
        if mark.group() == "{":
            start = ATTRIBUTE.sub(blank, text[head:at])
            inside = any(function for function, _ in braces)
            braces.append((None if inside else function_of(start, text, head), is_value(start)))
            if is_value(start):
                continue
        elif mark.group() == "}" and braces:
            function, was_value = braces.pop()
            if function:
                yield (*function, text.count("\n", 0, at) + 1)
            if was_value:
                continue
        head = at + 1


def python_functions(text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.name, node.lineno, node.end_lineno


def line_functions(text, begin, end):
    """Where each function begins and ends with a line of its own: shell and CMake."""
    name = None
    for number, line in enumerate(text.split("\n"), 1):
        found = re.match(begin, line)
        if found:
            name, first = found.group(1), number
        if name and re.search(end, line) and (not found or "{" in line):
            yield name, first, number
            name = None


def functions(path, text):
    if path.endswith(CPP):
        return cpp_functions(text)
    if path.endswith(".py") or text.startswith("#!/usr/bin/env python3"):
        return python_functions(text)
    if path.endswith(".cmake") or path.endswith("CMakeLists.txt"):
        return line_functions(text, r"\s*(?:function|macro)\((\w+)", r"^\s*end(?:function|macro)\(")
    return line_functions(text, r"(\w+)\(\) \{", r"^\}|^\w+\(\) \{.*\}$")


def is_program(path, text):
    return path.endswith(CPP + (".py", ".sh", ".cmake", "CMakeLists.txt")) or text.startswith("#!")


def long_lines(path, text):
    """One sentence for each line that is too long."""
    is_limited = is_program(path, text) or path.endswith(PAGES) or text.startswith("//")
    for number, line in enumerate(text.split("\n"), 1):
        is_comment = path.startswith("ci/") and line.startswith("#")
        if len(line) > WIDTH and (is_limited or is_comment):
            yield f"{path}:{number}: {len(line)} characters; {WIDTH} are allowed"


def complaints(path, text):
    """One sentence for each line, for each function, and for the file, that is too long."""
    found = list(long_lines(path, text))
    if not is_program(path, text):
        return found
    lines = text.count("\n")
    if lines > FILE:
        found.append(f"{path} has {lines} lines; {FILE} are allowed")
    for name, first, last in functions(path, text):
        if last - first >= FUNCTION:
            found.append(f"{path}:{first}: {name} has {last - first + 1} lines; {FUNCTION} are allowed")
    return found


def texts(root):
    """Path and text of every file of the tree but documents."""
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(n for n in folders if n not in LEFT_OUT and (n == ".github" or not n.startswith(".")))
        for name in sorted(files):
            path = os.path.join(folder, name)
            with open(path, "rb") as file:
                text = file.read().decode("utf-8", "replace")
            if not name.endswith(".md"):
                yield os.path.relpath(path, root), text


class Lengths(unittest.TestCase):
    root = "."

    def test_tree(self):
        found, count = [], 0
        for path, text in texts(self.root):
            found += complaints(path, text)
            count += sum(1 for _ in functions(path, text)) if is_program(path, text) else 0
        self.assertGreater(count, 4000, "functions are not seen")
        self.assertEqual(found, [], "\n" + "\n".join(found))

    def lengths(self, path, text):
        return {name: last - first + 1 for name, first, last in functions(path, text)}

    def test_functions_of_cpp(self):
        text = """namespace a {
// } in a comment
const char* const k_text = "}" R"(}
})";
struct s {
  s(int n)
      : a_{n}, b_(n) {
    f();
  }
  bool operator==(const s& o) const { return o.a_ == a_; }
  std::vector<int> v = {1, 2};
};
template <class T>
__global__ void __launch_bounds__(32, 2)
    kernel(T* y, int n = 1'000) {
  for (int i = 0; i < n; ++i) {
    const auto inner = [&] { y[i] = '}'; };
  }
}
const table k_table({
    make("one", [](int n) {
      return n;
    }),
});
const std::vector<row> k_rows = {
    {"a", 1},
    {"b", f(2)},
};
}  // namespace a
"""
        self.assertEqual(self.lengths("a.cu", text), {"s": 4, "operator==": 1, "kernel": 5, "lambda": 3})

    def test_functions_of_other_languages(self):
        self.assertEqual(self.lengths("a.py", "class A:\n    def f(self):\n        return 1\n\nx = 1\n"), {"f": 2})
        self.assertEqual(self.lengths("a", "#!/bin/sh\nf() { g; }\nh() {\n  f\n}\n"), {"f": 1, "h": 3})
        self.assertEqual(self.lengths("a.cmake", "function(f)\n  g()\nendfunction()\n"), {"f": 3})

    def test_what_is_complained_of(self):
        for path, begin, line, end in (("a.cpp", "void f() {\n", "  g();\n", "}\n"),
                                       ("a.py", "def f():\n", "    g()\n", ""),
                                       ("a.sh", "f() {\n", "  g\n", "}\n"),
                                       ("a.cmake", "function(f)\n", "  g()\n", "endfunction()\n")):
            most = FUNCTION - 1 - end.count("\n")
            self.assertEqual(complaints(path, begin + most * line + end), [])
            self.assertEqual(complaints(path, begin + (most + 1) * line + end),
                             [f"{path}:1: f has 61 lines; 60 are allowed"])
        self.assertEqual(complaints("a.py", 600 * "g()\n"), [])
        self.assertEqual(complaints("a.py", 601 * "g()\n"), ["a.py has 601 lines; 600 are allowed"])

    def test_lines(self):
        for path, begin in (("a/b.cu", "// "), ("a.h", ""), ("a.py", "# "), ("a.cmake", "# "), ("CMakeLists.txt", "# "),
                            ("a", "#!/bin/sh\n"), ("a.html", "<p>"), ("a.css", ""), ("cuda/a", "// "),
                            (".github/a.yml", "# "), ("ci/a.mutants", "# ")):
            last = begin.split("\n")[-1]
            number = begin.count("\n") + 1
            self.assertEqual(complaints(path, begin + "é" * (WIDTH - len(last)) + "\n"), [], path)
            self.assertEqual(complaints(path, begin + "é" * (WIDTH + 1 - len(last)) + "\n"),
                             [f"{path}:{number}: 121 characters; 120 are allowed"])
        for path in ("ci/a.mutants", "a.golden", "a.json", "tests/parsers/corpus/case/0"):
            self.assertEqual(complaints(path, "a" * 121 + "\n"), [], path)


if __name__ == "__main__":
    Lengths.root = sys.argv.pop(1)
    unittest.main()
