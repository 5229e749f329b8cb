"""The blocks of a page, and whether a command prints the output in one: whole lines, in order."""
import re


def blocks(page, language=""):
    fenced = re.findall(r"^```(\w*)\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    return [text for name, text in fenced if name == language]


def steady(text):
    """Returns the text without its times and rates, which differ from run to run."""
    text = re.sub(r"\b\d+\.\d s\b", "T s", text)
    text = re.sub(r"\(\d+ cases/s\)", "(R cases/s)", text)
    return re.sub(r"^(\S+ +[\w-]+ +\d+ +\S+) +\d+(?=  \S)", r"\1 R", text, flags=re.MULTILINE)


def pattern(shown):
    """Returns a pattern for output with these lines: `...` stands for lines, or for a part of a line."""
    lines = steady(shown).splitlines()
    parts = ["(?:.*\n)*?" if line == "..." else re.escape(line).replace(r"\.\.\.", ".*") + "\n" for line in lines]
    return "^" + "".join(parts)


def shows(shown, output):
    return re.search(pattern(shown), steady(output), re.MULTILINE) is not None
