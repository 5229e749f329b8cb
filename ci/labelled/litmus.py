"""Litmus tests of PTX's memory model (Dat3M's format) as CUDA programs. A thread of a test is lane 0 of a warp; the
other lanes take its branches and part in its barriers. A program returns 1 if the run ended in the outcome that the
test asks about."""

import collections
import csv
import re

HEAD = """#include <cstdlib>
static int words[64];
static int run(void (*kernel)(int*), int blocks, int threads) {
  int* p = nullptr;
  cudaMalloc(&p, sizeof words);
  cudaMemcpy(p, words, sizeof words, cudaMemcpyHostToDevice);
  kernel<<<blocks, threads>>>(p);
  cudaMemcpy(words, p, sizeof words, cudaMemcpyDeviceToHost);
  return cudaFree(p);
}
__device__ int of_lane_0(int value) { return __shfl_sync(~0u, value, 0); }
"""
CONDITION = re.compile(r"^\s*(~?exists|forall)\b\s*(.*)", re.M | re.S)
REGISTERS = 32  # the first word of the registers' final values


class NotTranslated(Exception):
    """Names the construct that is not translated."""


def asm(text, outputs="", inputs=""):
    return f'asm volatile("{text};" : {outputs} : {inputs} : "memory");'


def parts_of(line):
    word, _, rest = line.partition(" ")
    return word, [o.strip() for o in rest.split(",")] if rest else []


def of_warp(line, warps):
    """The statement of an instruction that all lanes execute, in a block with so many threads of the test; None: lane 0
    does."""
    word, operands = parts_of(line)
    if word.endswith(":"):
        return word + ";"
    if word == "goto":
        return f"goto {operands[0]};"
    if word in ("bne", "beq"):
        return f"if (of_lane_0({operands[0]} {'!' if word == 'bne' else '='}= {operands[1]})) goto {operands[2]};"
    if word in ("bar.cta.sync", "bar.cta.arrive"):  # instance, barrier, threads
        name = f"of_lane_0({operands[min(1, len(operands) - 1)]})"
        threads = f"32 * {operands[2] if len(operands) > 2 else warps}"
        return asm(f"bar.{word[8:]} %0, %1", "", f'"r"({name}), "r"({threads})')
    return None


def of_thread(line, places):
    """The statement of an instruction of lane 0."""
    word, operands = parts_of(line)
    inputs = ", ".join(f'"l"(m + {places[o]})' if o in places else f'"r"({o})' for o in operands[1:])
    if word == "add":
        return f"{operands[0]} = {operands[1]} + {operands[2]};"
    if word == "ld" and operands[1] not in places:
        return f"{operands[0]} = {operands[1]};"
    if re.fullmatch(r"ld\.\w+(\.\w+)?", word):
        return asm(f"{word}.global.s32 %0, [%1]", f'"=r"({operands[0]})', inputs)
    if re.fullmatch(r"st\.\w+(\.\w+)?", word):
        return asm(f"{word}.global.s32 [%0], %1", "", f'"l"(m + {places[operands[0]]}), {inputs}')
    if re.fullmatch(r"fence\.(sc|acq_rel)\.\w+", word):
        return asm(word)
    found = re.fullmatch(r"(atom|red)(\.\w+\.\w+)\.(\w+)", word)
    if not found or found[3] not in ("add", "sub", "exch", "cas"):
        raise NotTranslated(word)
    if found[1] == "red":
        operands = ["unused", *operands]
    value = f"-({operands[-1]})" if found[3] == "sub" else operands[-1]
    values = [*operands[2:-1], value]
    kind = {"add": "add.s32", "sub": "add.s32"}.get(found[3], found[3] + ".b32")
    marks = "".join(f", %{2 + i}" for i in range(len(values)))
    inputs = ", ".join([f'"l"(m + {places[operands[1]]})', *(f'"r"({v})' for v in values)])
    return asm(f"atom{found[2]}.global.{kind} %0, [%1]{marks}", f'"=r"({operands[0]})', inputs)


def body_of(lines, places, warps):
    """The statements of a thread."""
    return "".join((of_warp(line, warps) or f"if (lane == 0) {{ {of_thread(line, places)} }}") + "\n" for line in lines)


def threads_of(text):
    """(block, lines) of each thread."""
    table = text[re.search(r"^\s*P0\s*@", text, re.M).start():CONDITION.search(text).start()]
    rows = [[c.strip() for c in row.split("|")] for row in table.split(";") if row.strip()]
    places = [re.fullmatch(r"P\d+@\s*cta (\d+)\s*,\s*gpu (\d+)", head) for head in rows[0]]
    if len({p[2] for p in places}) > 1:
        raise NotTranslated("several GPUs")
    return [(int(p[1]), [row[i] for row in rows[1:] if i < len(row) and row[i]]) for i, p in enumerate(places)]


def program_of(text):
    """The program of a test."""
    text = re.sub(r"//.*", "", text)
    setup = [s.strip() for s in re.search(r"\{(.*?)\}", text, re.S)[1].split(";") if s.strip()]
    if any(s.count("=") != 1 for s in setup):
        raise NotTranslated("an alias")
    start = {name.strip(): value.strip() for name, value in (s.split("=") for s in setup)}
    threads = threads_of(text)
    used = {w for _, lines in threads for line in lines for w in re.findall(r"(?<![.\w])[a-z]\w*(?![.\w:])", line)}
    registers = {w for w in used if re.fullmatch(r"rd?\d+", w)}
    names = sorted({n for n in start if ":" not in n} | {o for _, ls in threads for line in ls
                   for o in re.findall(r"(?<=[ ,])[a-zA-Z]\w*", line)} - registers - {"cta"})
    names = [n for n in names if not re.fullmatch(r"LC\d+", n)]
    places = {name: i for i, name in enumerate(names)}
    warps = collections.Counter(block for block, _ in threads)
    cases, seen, kept = "", {}, {}
    for i, (block, lines) in enumerate(threads):
        warp = seen.setdefault(block, 0)
        seen[block] += 1
        # One function has the labels of all threads.
        lines = [re.sub(r"\bLC\w+", rf"\g<0>_{i}", line) for line in lines]
        own = sorted(r for r in registers if any(re.search(rf"\b{r}\b", line) for line in lines))
        kept.update({f"{i}:{r}": REGISTERS + 8 * i + k for k, r in enumerate(own)})
        declared = "".join(f"int {r} = {start.get(f'P{i}:{r}', '0')};\n" for r in own) + "int unused = 0;\n"
        stored = "".join(f"if (lane == 0) m[{kept[f'{i}:{r}']}] = {r};\n" for r in own)
        cases += f"if (blockIdx.x == {block} && threadIdx.x / 32 == {warp}) {{\n{declared}" \
                 f"{body_of(lines, places, warps[block])}{stored}}}\n"
    kind, sentence = CONDITION.search(text).groups()
    if re.search(r"bv64|rd\d", sentence):
        raise NotTranslated("64 bits")
    sentence = re.sub(r"(?<![=!])=(?!=)", "==", sentence.strip()).replace("/\\", "&&").replace("\\/", "||")
    sentence = re.sub(r"P?(\d+):\s*(\w+)", lambda f: f"words[{kept[f'{f[1]}:{f[2]}']}]", sentence)
    sentence = re.sub(r"(?<!\w)(?!words\b)[a-z]\w*", lambda f: f"words[{places[f[0]]}]", sentence)
    values = "".join(f"words[{places[n]}] = {v};\n" for n, v in start.items() if n in places)
    holds = f"({sentence})" if kind.endswith("exists") else f"!({sentence})"
    blocks = max(block for block, _ in threads) + 1
    return f"{HEAD}__global__ void test(int* m) {{\nconst unsigned lane = threadIdx.x % 32;\n{cases}}}\n" \
           f"int main() {{\n{values}run(test, {blocks}, {32 * max(warps.values())});\nreturn {holds};\n}}\n"


def answers_of(folder, suffix):
    """(name, source, program, Dat3M's answer) of each test that is translated."""
    with open(folder / f"dartagnan/src/test/resources/PTXv7_5{suffix}-expected.csv", encoding="utf-8") as f:
        labels = [(name, word == "1") for name, word in csv.reader(f)]
    for name, is_true in labels:
        source = (folder / name).read_text()
        try:
            program = program_of(source)
        except NotTranslated:
            continue
        yield name.removeprefix("litmus/PTX/").removesuffix(".litmus"), source, program, is_true


def tests_of(folder):
    """(name, program, whether the model allows the outcome that the test asks about) of each test."""
    for name, source, program, is_true in answers_of(folder, ""):
        is_exists = CONDITION.search(re.sub(r"//.*", "", source))[1] == "exists"
        yield name, program, is_true == is_exists


def endings_of(folder):
    """(name, program, whether each fair schedule ends) of each test."""
    for name, _, program, ends in answers_of(folder, "-Liveness"):
        yield name, program, ends
