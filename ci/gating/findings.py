"""Findings of the gate and their reports: text, gate.json, JUnit, SARIF, annotations of GitHub."""

import collections
import dataclasses
import json
import xml.etree.ElementTree as xml

# kind -> severity (the smaller the worse), what it means, what to do.
KINDS = {
    "violation": (
        0,
        "A kernel gives a result that its contract does not allow, or the detectors saw it misuse memory or "
        "barriers: the message names the verdict.",
        "replay the case by its line",
    ),
    "race": (
        0,
        "Two threads touch the same memory without an order between them. Right results on one machine prove nothing.",
        "replay the case by its line; docs/emulated_device.md explains the report",
    ),
    "golden": (
        1,
        "A known answer, an outside oracle or a kept regression does not agree any more.",
        "run 'warpcheck golden check' on the operator",
    ),
    "less accurate": (
        2,
        "Errors stay inside the bound, and are larger than the committed error profile: the accuracy ratchet.",
        "run 'warpcheck golden check'; if the loss is meant, regenerate the profile and write 'weakens: NAME: reason'",
    ),
    "survivor": (
        2,
        "A planted bug is not found any more, or not by the property that should find it.",
        "run 'warpcheck mutants OP --only ID'",
    ),
    "coverage": (
        3,
        "A class of cases or a variant of the kernel was not reached, so that nothing is known of it.",
        "run 'warpcheck verify OP' with the options below",
    ),
    "weakened": (
        3,
        "The pull request demands less than its base: something in golden/registry.json shrank, widened or vanished.",
        "put it back, or write 'weakens: NAME: reason' into the text of the pull request",
    ),
    "slower": (
        3,
        "Significantly slower than the base, by more than the noise of the row, in two rounds.",
        "run the benchmark of both builds in turn",
    ),
}


@dataclasses.dataclass
class Finding:
    kind: str
    operator: str
    name: str
    file: str
    message: str
    reproduce: str = ""
    judge: str = ""  # base or head, where both have judged
    note: str = ""  # the reason by which the pull request excuses it
    line: int = 0
    also: list = dataclasses.field(default_factory=list)  # names of further properties with the same cause

    def say_also(self):
        """Appends the names of further properties with the same cause to the message."""
        if self.also:
            fail = "property fails" if len(self.also) == 1 else "properties fail"
            self.message += f"; {len(self.also)} further {fail} with the same cause: {', '.join(self.also)}"

    @property
    def severity(self):
        return KINDS[self.kind][0]


def counted(findings):
    return [f for f in findings if not f.note]


def place(findings, changed):
    """Puts each finding on a changed line. `changed`: file -> first line of each hunk, of the tree on trial."""
    for f in findings:
        candidates = [p for p in changed if f.operator and f.operator in p and p.startswith("kernels/")]
        file = f.file if f.file in changed else next(iter([*candidates, *changed]), f.file)
        f.file, f.line = file, (changed.get(file) or [1])[0]


def explain(finding_kind, report):
    severity, meaning, remedy = KINDS[finding_kind]
    lines = [f"{finding_kind}: {meaning}", f"What to do: {remedy}."]
    for f in report:
        lines += ["", f"{f['name']}: {f['message']}"]
        if f["reproduce"]:
            lines += ["Reproduce with", f"  {f['reproduce']}"]
    return "\n".join(lines)


def to_json(result):
    return json.dumps(result | {"findings": [dataclasses.asdict(f) for f in result["findings"]]}, indent=1) + "\n"


def to_junit(steps, findings):
    root = xml.Element("testsuites", tests=str(len(steps)), failures=str(len({f.kind for f in counted(findings)})))
    suite = xml.SubElement(root, "testsuite", name="gate", tests=str(len(steps)))
    for step in steps:
        case = xml.SubElement(suite, "testcase", classname="gate", name=step["name"], time=f"{step['seconds']:.1f}")
        if step["verdict"] == "not run":
            xml.SubElement(case, "skipped", message=step["detail"])
        found = [f for f in counted(findings) if f.kind in step["kinds"]]
        if found:
            failure = xml.SubElement(case, "failure", message=found[0].message, type=found[0].kind)
            failure.text = "\n".join(f"{f.name}: {f.message}\n{f.reproduce}" for f in found)
    return xml.tostring(root, encoding="unicode") + "\n"


def to_sarif(findings, version):
    return (
        json.dumps(
            {
                "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
                "version": "2.1.0",
                "runs": [
                    {
                        "tool": {
                            "driver": {
                                "name": "warpcheck gate",
                                "version": version,
                                "rules": [
                                    {"id": kind, "shortDescription": {"text": meaning}, "help": {"text": remedy}}
                                    for kind, (_, meaning, remedy) in KINDS.items()
                                ],
                            }
                        },
                        "results": [
                            {
                                "ruleId": f.kind,
                                "level": "note" if f.note else "error",
                                "message": {"text": f.message + (f"\n{f.reproduce}" if f.reproduce else "")},
                                "locations": [
                                    {
                                        "physicalLocation": {
                                            "artifactLocation": {"uri": f.file},
                                            "region": {"startLine": max(1, f.line)},
                                        }
                                    }
                                ],
                            }
                            for f in findings
                        ],
                    }
                ],
            },
            indent=1,
        )
        + "\n"
    )


MOST_ANNOTATIONS = 10  # of a step; GitHub drops the rest without a word


def escaped(text, of_property=False):
    for what, by in (
        ("%", "%25"),
        ("\r", "%0D"),
        ("\n", "%0A"),
        *(((":", "%3A"), (",", "%2C")) if of_property else ()),
    ):
        text = text.replace(what, by)
    return text


def to_github(findings):
    """Workflow commands: one for each group of findings on a line, the most severe first."""
    groups = collections.OrderedDict()
    for f in sorted(counted(findings), key=lambda f: f.severity):
        groups.setdefault((f.file, f.line), []).append(f)
    lines = []
    for (file, line), group in groups.items():
        title = f"{group[0].kind}: {group[0].name}" + (f" and {len(group) - 1} more" if len(group) > 1 else "")
        text = "\n".join(f.message for f in group[:5])
        lines.append(f"::error file={escaped(file, True)},line={line},title={escaped(title, True)}::{escaped(text)}")
    if len(lines) > MOST_ANNOTATIONS:
        rest = len(lines) - (MOST_ANNOTATIONS - 1)
        lines = [*lines[: MOST_ANNOTATIONS - 1], f"::error title=gate::and {rest} more, see the summary"]
    return "\n".join(lines)


def to_text(result):
    """The summary, in Markdown."""
    lines = [
        f"## Gate: {result['verdict']}",
        "",
        f"{result['head']} against {result['base']}, device {result['device']}, {result['seconds']:.0f} s; "
        f"judged by {result['judge']}.",
        "",
        "| step | verdict | seconds | |",
        "|---|---|---|---|",
    ]
    lines += [f"| {s['name']} | {s['verdict']} | {s['seconds']:.0f} | {s['detail']} |" for s in result["steps"]]
    for title, group in (
        ("Findings", counted(result["findings"])),
        ("Notes", [f for f in result["findings"] if f.note]),
    ):
        if group:
            lines += ["", f"### {title}", ""]
        for f in sorted(group, key=lambda f: f.severity):
            judged = f" (by the {f.judge}'s judge)" if f.judge else ""
            lines.append(f"- **{f.kind}**{judged} {f.message}" + (f": allowed, {f.note}" if f.note else ""))
            if f.reproduce:
                lines.append(f"  `{f.reproduce}`")
    if result["cut"]:
        lines += ["", "### Cut", "", *(f"- {text}" for text in result["cut"])]
    if result["findings"]:
        lines += ["", "`ci/gate --explain KIND` explains a finding and how to reproduce it."]
    return "\n".join(lines) + "\n"
