"""What the scripts that measure PyTorch share: PyTorch itself, the rows to measure, the file of their times."""
import argparse
import json
import re
import statistics
import sys

# The device sleeps for about 20 ms while the host sends what is measured: a call of PyTorch takes the host up to 70 us,
# longer than many rows take the device.
HEAD_START_CYCLES = 40_000_000
SUFFIX = r"(?:/iterations:\d+)?(?:/manual_time)?$"  # of a benchmark's name


class Program:
    """The command line of a script, and what it writes. Ends the script where there is no PyTorch or no GPU."""

    def __init__(self, script, description, *flags):
        """flags: name and help of each."""
        parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
        parser.add_argument("--out", required=True, help="the JSON file to write")
        for name, text in flags:
            parser.add_argument(name, action="store_true", help=text)
        parser.add_argument("names", nargs="*", help="rows; default: one per line from standard input")
        self.script = script
        self.options = parser.parse_args()
        self.rows = []
        try:
            import torch
        except ImportError:
            sys.exit(f"{script}: PyTorch is not installed; pip install torch")
        if not torch.cuda.is_available():
            sys.exit(f"{script}: PyTorch sees no GPU")
        self.torch = torch
        self.l2_bytes = torch.cuda.get_device_properties(0).L2_cache_size

    def warn(self, text):
        print(f"{self.script}: {text}", file=sys.stderr)

    def matches(self, pattern):
        """The match of each row's name; a name that the pattern does not describe is left out, with a message."""
        for name in self.options.names or [line.strip() for line in sys.stdin]:
            match = re.match(pattern + SUFFIX, name)
            if match:
                yield match
            elif name:
                self.warn(f"no PyTorch call for {name}")

    def write(self, row, peer, us):
        """Adds a row's times in microseconds; the file is written after each, so that an interruption loses nothing."""
        self.rows.append({"row": row, "peer": peer, "us": us})
        print(f"{row:50} {peer:16} {statistics.median(us):10.2f} us", flush=True)
        with open(self.options.out, "w") as file:
            found = {"torch": self.torch.__version__, "gpu": self.torch.cuda.get_device_name(0), "rows": self.rows}
            json.dump(found, file)

    def end(self):
        if not self.rows:
            sys.exit(f"{self.script}: no row was measured")


def start(torch, event):
    """Gives the host its head start and records the event behind it."""
    torch.cuda._sleep(HEAD_START_CYCLES)
    event.record()


def times_between(torch, events):
    """Microseconds from each event to the next, when all have happened."""
    torch.cuda.synchronize()
    return [begin.elapsed_time(end) * 1e3 for begin, end in zip(events, events[1:])]
