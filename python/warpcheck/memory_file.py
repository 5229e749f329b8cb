"""Files in memory, through which arrays reach the command and come back."""

from __future__ import annotations

import os
from typing import Any


class MemoryFile:
    """A file that the command opens by its path. It ends with this process, even if the process is killed."""

    def __init__(self, name: str):
        self.descriptor = os.memfd_create(name)
        self.path = f"/proc/{os.getpid()}/fd/{self.descriptor}"

    def write(self, offset: int, content: Any) -> None:
        content = memoryview(content)
        while content:
            done = os.pwrite(self.descriptor, content, offset)
            content, offset = content[done:], offset + done

    def read(self, offset: int, into: Any) -> bool:
        """Fills `into`; False if the file ends before."""
        into = memoryview(into)
        while into:
            done = os.preadv(self.descriptor, [into], offset)
            if done == 0:
                return False
            into, offset = into[done:], offset + done
        return True

    def resize(self, count: int) -> None:
        os.ftruncate(self.descriptor, count)

    def close(self) -> None:
        os.close(self.descriptor)
