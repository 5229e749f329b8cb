"""The tree on trial and that of its base: what changed between them, and their builds."""

import pathlib
import re
import subprocess

from .trials import CannotJudge

HERE = pathlib.Path(__file__).resolve().parents[2]  # the judge's tree


class Usage(Exception):
    pass


def git(tree, *arguments, check=True):
    r = subprocess.run(["git", "-C", str(tree), *arguments], capture_output=True, text=True)
    if check and r.returncode:
        raise Usage(f"git {' '.join(arguments)}: {r.stderr.strip()}")
    return r.stdout if r.returncode == 0 else None


def changed_lines(tree, base):
    """file -> first line of each hunk in the tree; a deleted file has line 1."""
    changed, current = {}, None
    for line in git(tree, "diff", "-U0", "--no-color", "--no-renames", base, "--").splitlines():
        if match := re.match(r"diff --git a/(.*) b/\1$", line):
            current = changed.setdefault(match[1], [])
        elif match := re.match(r"@@ -\S+ \+(\d+)", line):
            current.append(max(1, int(match[1])))
    for path in git(tree, "ls-files", "--others", "--exclude-standard").splitlines():
        changed.setdefault(path, [1])
    return changed


def shell(tree, text):
    return subprocess.run(["bash", "-c", f"source ci/common.sh; {text}"], cwd=tree)


def build_of(tree, device, targets):
    preset = "cuda" if device == "cuda" else "emulated"
    if shell(tree, f"install_packages build; build {preset} {targets} >&2").returncode:
        raise CannotJudge(f"building {tree} failed")
    return tree / "build" / preset


def base_tree(options, base):
    """A worktree of the base, where the judge itself is not one."""
    if git(HERE, "rev-parse", "HEAD", check=False) == git(options.tree, "rev-parse", base) and not git(
        HERE, "status", "--porcelain"
    ):
        return HERE
    folder = options.out / "base-tree"
    if not folder.exists():
        git(options.tree, "worktree", "prune")
        git(options.tree, "worktree", "add", "--detach", str(folder), base)
    git(folder, "checkout", "--quiet", "--detach", base)
    return folder


def has_gpu():
    return shell(HERE, "has_gpu").returncode == 0
