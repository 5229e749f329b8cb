"""What the registry of an older base calls otherwise: properties, variants, mutants and exemptions of classes."""

import copy
import json
import pathlib
import re

HERE = pathlib.Path(__file__).resolve().parent
# One table for all: that by which the command reads old case lines.
SOURCE = HERE.parents[1] / "properties/operators/old_names.cpp"


def tables():
    """(properties and variants, mutants of each operator): old name -> name of today."""
    names = dict(re.findall(r'\{"([\w-]+)", "([\w-]+)"\}', SOURCE.read_text()))
    return names, json.loads((HERE / "old_mutants.json").read_text())


def of_today(registry):
    """The registry with the names of today; one that has them is returned as it is."""
    names, mutants = tables()
    registry = copy.deepcopy(registry)
    for op, claim in registry["operators"].items():
        if "waivers" in claim:
            claim["coverage_exemptions"] = claim.pop("waivers")
        claim["properties"] = {names.get(name, name): p for name, p in claim.get("properties", {}).items()}
        killers = {}
        for name, killer in claim.get("mutants", {}).items():
            killer, colon, verdict = killer.partition(":")
            killers[mutants.get(op, {}).get(name, name)] = names.get(killer, killer) + colon + verdict
        claim["mutants"] = killers
        for device, profile in claim.get("profiles", {}).items():
            # "f32 softmax_few" -> "f32 softmax_small_matrix"
            claim["profiles"][device] = {
                " ".join(names.get(word, word) for word in name.split(" ")): limits for name, limits in profile.items()
            }
    return registry
