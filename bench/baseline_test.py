#!/usr/bin/env python3
"""Tests of baseline.py: what it makes of outputs of benchmarks, and what it refuses."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "baseline.py")


def row(name, us, peers=None, ratio=None):
    entry = {"name": name + "/iterations:101/manual_time", "label": "softmax_warp", "median_us": us, "GBps": 4000.0,
             "limit_us": 100.0, "fraction_of_limit": 100.0 / us}
    for peer, peer_us in (peers or {}).items():
        entry["us of " + peer] = peer_us
    if ratio:
        fastest = min(peers, key=peers.get)
        entry["label"] += " peer:" + fastest
        entry.update(peer_us=peers[fastest], ratio_to_peer=ratio[0], ratio_low=ratio[1], ratio_high=ratio[2])
    return entry


def output(*rows):
    return {"context": {"gpu": "a GPU", "commit": "abc", "launch_us": "1.3", "date": "2026-01-02T03:04:05"},
            "benchmarks": list(rows)}


class Baseline(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def write(self, name, content):
        with open(self.path(name), "w") as file:
            json.dump(content, file)
        return self.path(name)

    def run_script(self, *arguments):
        return subprocess.run([sys.executable, SCRIPT, *arguments], capture_output=True, text=True)

    def make(self, *arguments):
        done = self.run_script("make", *arguments, "--driver", "1.2.3", "--out", self.path("made.json"))
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.path("made.json")) as file:
            return json.load(file)

    def test_peers_of_all_files_and_of_the_earlier_baseline(self):
        ours = self.write("ours.json", output(
            row("softmax/f32/8x32", 125.0, {"torch eager": 130.0, "torch compiled": 120.0}, (1.04, 1.03, 1.05)),
            row("softmax/f32/1x64", 250.0)))
        further = self.write("further.json", output(row("softmax/f32/8x32", 126.0, {"cudnn": 121.0},
                                                        (1.02, 1.01, 1.03))))
        earlier = self.write("earlier.json", {"rows": [
            {"name": "softmax/f32/8x32", "peers": {"cudnn": {"us": 1.0}}},
            {"name": "softmax/f32/1x64", "peers": {"cudnn": {"us": 2.0, "ratio": [1, 1, 1]}}}]})
        made = self.make(ours, further, "--earlier", earlier)
        self.assertEqual((made["commit"], made["driver"], made["date"]), ("abc", "1.2.3", "2026-01-02"))
        first, second = made["rows"]
        self.assertEqual((first["name"], first["median_us"], first["fraction_of_limit"]),
                         ("softmax/f32/8x32", 125.0, 0.8))
        self.assertEqual(first["peers"], {"cudnn": {"us": 121.0, "ratio": [1.02, 1.01, 1.03]},
                                          "torch compiled": {"us": 120.0, "ratio": [1.04, 1.03, 1.05]},
                                          "torch eager": {"us": 130.0}})
        self.assertEqual(second["peers"], {"cudnn": {"us": 2.0, "earlier": True}})

    def test_table(self):
        ours = self.write("ours.json", output(
            row("softmax/f32/8x32", 125.0, {"torch eager": 130.0, "torch compiled": 120.0}, (1.04, 1.03, 1.05)),
            row("softmax/f32/1x64", 250.0)))
        earlier = self.write("earlier.json", {"rows": [{"name": "softmax/f32/1x64", "peers": {"cudnn": {"us": 2.0}}}]})
        self.make(ours, "--earlier", earlier)
        done = self.run_script("table", self.path("made.json"))
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stdout.splitlines()
        self.assertIn("### softmax", lines)
        self.assertEqual(lines[-2], "| f32/8x32 | warp | 125.0 | 4000 | 0.800 | torch compiled | 120.0 | "
                                    "1.040 (1.030-1.050) | torch eager 130.0 |")
        self.assertEqual(lines[-1], "| f32/1x64 | warp | 250.0 | 4000 | 0.400 | - | - | - | cuDNN 2.0* |")

    def test_of_equally_fast_peers_the_one_with_an_interval_is_the_best(self):
        # 25.056 / 25.5 rounds to another thousandth than the interval's middle.
        ours = row("scan/f32/8x32", 25.056, {"cub": 25.504, "torch eager": 25.5}, (0.9824, 0.974, 0.989))
        self.make(self.write("ours.json", output(ours | {"label": "warp peer:cub"})))
        lines = self.run_script("table", self.path("made.json")).stdout.splitlines()
        self.assertIn("| CUB | 25.5 | 0.982 (0.974-0.989) | torch eager 25.5 |", lines[-1])

    def test_table_of_an_operator_with_columns_of_its_own(self):
        parts = {"updates_us": 60.25, "of_target": 1.25}
        ours = self.write("ours.json", output(row("softmax/8x32", 125.0) | parts, row("softmax/9x32", 250.0)))
        self.assertEqual(self.make(ours)["rows"][0]["of_target"], 1.25)
        lines = self.run_script("table", self.path("made.json")).stdout.splitlines()
        self.assertIn("| fraction | updates us | us / target | best peer |", lines[3])
        self.assertEqual(lines[-2], "| 8x32 | warp | 125.0 | 4000 | 0.800 | 60.2 | 1.25 | - | - | - | - |")
        self.assertEqual(lines[-1], "| 9x32 | warp | 250.0 | 4000 | 0.400 | - | - | - | - | - | - |")

    def test_table_of_products_and_of_sequences(self):
        product = row("matmul/ieee/8x8x8", 125.0, {"cublas": 100.0}, (1.25, 1.24, 1.26)) | {"tflops": 50.04}
        made = self.make(self.write("ours.json", output(product)))["rows"][0]
        self.assertEqual((made["tflops"], made["fraction_of_limit"], "GBps" in made), (50.0, 0.8, False))
        lines = self.run_script("table", self.path("made.json")).stdout.splitlines()
        self.assertIn("| us | TFLOP/s | fraction |", lines[3])
        self.assertIn("| 125.0 | 50.0 | 0.800 | cuBLAS | 100.0 | 1.250 (1.240-1.260) |", lines[-1])
        self.make(self.write("ours.json", output(row("gru/8x8/forward", 125.0) | {"us_per_step": 15.625})))
        lines = self.run_script("table", self.path("made.json")).stdout.splitlines()
        self.assertIn("| us | us a step | fraction |", lines[3])
        self.assertIn("| 125.0 | 15.625 | 0.800 |", lines[-1])

    def test_page_of_a_folder(self):
        os.mkdir(self.path("gpu"))
        head = {"gpu": "a GPU, driver 1", "driver": "1.2.3", "commit": "abc", "date": "2026-01-02"}
        self.write("gpu/scan.json", head | {"rows": [
            {"name": "scan/f32/8x32", "variant": "scan_warp", "median_us": 4.0, "GBps": 100.4, "limit_us": 3.0,
             "fraction_of_limit": 0.75, "peer": "cub", "peer_us": 8.0, "ratio_to_peer": [0.5, 0.49, 0.51]}]})
        self.write("gpu/histogram.json", head | {"rows": [
            {"name": "histogram/fixed64/8x2", "median_us": 2.0, "updates_us": 1.5},
            {"name": "histogram/fixed64/9x2", "median_us": 3.0, "read_us": 0.5, "updates_us": 1.5}]})
        self.assertEqual(self.run_script("page", self.path("gpu")).returncode, 0)
        with open(self.path("gpu/README.md")) as file:
            lines = file.read().splitlines()
        self.assertEqual(lines[0], "# Measured on one a GPU")
        self.assertIn("| f32/8x32 | warp | 4.0 | 100 | 0.750 | CUB | 8.0 | 0.500 (0.490-0.510) | - |", lines)
        self.assertIn("| row | us | read us | updates us |", lines)
        self.assertIn("| fixed64/8x2 | 2.0 | - | 1.5 |", lines)
        self.assertEqual(self.run_script("page", "--check", self.path("gpu")).returncode, 0)
        with open(self.path("gpu/README.md"), "a") as file:
            file.write("by hand\n")
        done = self.run_script("page", "--check", self.path("gpu"))
        self.assertEqual(done.returncode, 1)
        self.assertIn("README.md is not what its files say", done.stderr)

    def test_page_lists_the_rows_slower_than_their_best_peer(self):
        os.mkdir(self.path("gpu"))
        ours = self.write("ours.json", output(
            row("softmax/f32/8x32", 125.0, {"torch compiled": 120.0, "as fast": 120.0}, (1.0416, 1.03, 1.05)),
            row("softmax/f32/8x64", 125.0, {"torch compiled": 124.0}, (1.01, 0.99, 1.03)),
            row("softmax/f32/1x64", 250.0)))
        self.make(ours)
        os.rename(self.path("made.json"), self.path("gpu/softmax.json"))
        self.assertEqual(self.run_script("page", self.path("gpu")).returncode, 0)
        with open(self.path("gpu/README.md")) as file:
            slower = file.read().split("## Rows slower than the best peer")[1].split("## softmax")[0]
        self.assertIn("| softmax/f32/8x32 | 125.0 | torch compiled | 120.0 | 1.042 (1.030-1.050) |\n", slower)
        self.assertNotIn("8x64", slower)
        self.assertNotIn("1x64", slower)

    def test_page_says_which_rows_reach_their_bar(self):
        os.mkdir(self.path("gpu"))
        intervals = {"median_low": 120.0, "median_high": 130.0, "fraction_low": 0.79, "fraction_high": 0.81}
        parts = intervals | {"tables_us": 25.0}
        self.make(self.write("ours.json", output(
            row("softmax/f32/8x32", 125.0, {"torch eager": 100.0}, (1.25, 1.2, 1.3)) | intervals,
            row("softmax/f32/8x64", 125.0) | parts, row("softmax/f32/1x64", 250.0))))
        os.rename(self.path("made.json"), self.path("gpu/softmax.json"))
        with open(self.path("gpu/bars"), "w") as file:
            file.write("# a comment\n" + "".join(f"softmax/f32/{bar}\n" for bar in (
                "8x32 peer 0.9", "8x32 limit 0.8", "8x64 call 130", "8x64 function 80", "1x64 limit 0.95",
                "2x2 peer 1")))
        self.assertEqual(self.run_script("page", self.path("gpu")).returncode, 0)
        with open(self.path("gpu/README.md")) as file:
            bars = file.read().split("## Rows with a bar")[1].split("## Rows slower")[0]
        for line in ("| softmax/f32/8x32 | 125.0 | torch eager | 0.9 | 0.800 (0.769-0.833) | short | abc |",
                     "| softmax/f32/8x32 | 125.0 | limit | 0.8 | 0.800 (0.790-0.810) | holds | abc |",
                     "| softmax/f32/8x64 | 125.0 | call | 130 us | 1.040 (1.000-1.083) | holds | abc |",
                     "| softmax/f32/8x64 | 125.0 | function | 80 us | 0.800 (0.762-0.842) | short | abc |",
                     "| softmax/f32/1x64 | 250.0 | limit | 0.95 | - | - | abc |",
                     "| softmax/f32/2x2 | - | peer | 1 | - | - | - |"):
            self.assertIn(line + "\n", bars)

    def test_committed_pages_are_what_their_files_say(self):
        baselines = os.path.join(os.path.dirname(SCRIPT), "baselines")
        for gpu in sorted(os.listdir(baselines)):
            done = self.run_script("page", "--check", os.path.join(baselines, gpu))
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_rows_of_a_later_commit(self):
        ours = self.write("ours.json", output(row("softmax/f32/8x32", 125.0), row("softmax/f32/1x64", 250.0)))
        further = self.write("further.json", output(row("softmax/f32/1x64", 250.0, {"cudnn": 500.0}, (0.5, 0.4, 0.6))))
        newer = output(row("softmax/f32/1x64", 200.0), row("softmax/f32/9x9", 1.0))
        newer["context"]["commit"] = "def"
        made = self.make(ours, further, "--later", self.write("later.json", newer))
        self.assertEqual(made["commit"], "abc")
        self.assertEqual([(r["name"], r["median_us"], r.get("commit"), r["peers"]) for r in made["rows"]],
                         [("softmax/f32/8x32", 125.0, None, {}), ("softmax/f32/1x64", 200.0, "def", {})])
        lines = self.run_script("table", self.path("made.json")).stdout.splitlines()
        self.assertEqual(lines[-1], "| f32/1x64 (def) | warp | 200.0 | 4000 | 0.500 | - | - | - | - |")

    def update(self, baseline, commit, *rows, order=None):
        """The baseline after rows of another run."""
        newer = output(*rows)
        newer["context"].update(commit=commit, date="2026-01-03T00:00:00")
        done = self.run_script("update", baseline, self.write("newer.json", newer), "--driver", "1.2.4",
                               *(["--order", order] if order else []))
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(baseline) as file:
            return json.load(file)

    def test_update(self):
        ours = self.write("ours.json", output(row("softmax/f32/8x32", 125.0, {"cudnn": 500.0}, (0.25, 0.2, 0.3)),
                                              row("softmax/f32/1x64", 250.0)))
        self.make(ours)
        with open(self.path("names"), "w") as file:
            file.write("softmax/f32/8x32/iterations:101/manual_time\nsoftmax/f32/4x48/iterations:101/manual_time\n"
                       "softmax/f32/1x64/iterations:101/manual_time\n")
        made = self.update(self.path("made.json"), "def", row("softmax/f32/4x48", 90.0),
                           row("softmax/f32/8x32", 100.0, {"torch eager": 110.0}, (0.9, 0.8, 1.0)),
                           order=self.path("names"))
        self.assertEqual((made["commit"], made["driver"], made["date"]), ("abc", "1.2.3", "2026-01-02"))
        self.assertEqual([(r["name"], r["median_us"], r.get("commit")) for r in made["rows"]],
                         [("softmax/f32/8x32", 100.0, "def"), ("softmax/f32/4x48", 90.0, "def"),
                          ("softmax/f32/1x64", 250.0, None)])
        self.assertEqual(made["rows"][0]["peers"], {"cudnn": {"us": 500.0, "earlier": True},
                                                    "torch eager": {"us": 110.0, "ratio": [0.9, 0.8, 1.0]}})
        made = self.update(self.path("made.json"), "ghi", *(row(r["name"], 80.0) for r in made["rows"]))
        self.assertEqual((made["commit"], made["driver"], made["date"]), ("ghi", "1.2.4", "2026-01-03"))
        self.assertEqual([(r["median_us"], r.get("commit")) for r in made["rows"]], [(80.0, None)] * 3)

    def test_update_refuses_outputs_of_two_runs(self):
        self.make(self.write("ours.json", output(row("softmax/f32/8x32", 125.0))))
        other = output(row("softmax/f32/8x32", 100.0))
        other["context"]["commit"] = "def"
        done = self.run_script("update", self.path("made.json"), self.path("ours.json"),
                               self.write("other.json", other), "--driver", "1")
        self.assertEqual(done.returncode, 1)
        self.assertIn("these have abc, def", done.stderr)

    def test_refusals(self):
        failed = row("softmax/f32/8x32", 125.0) | {"error_occurred": True, "error_message": "wrong"}
        with open(self.path("cut.json"), "w") as file:
            file.write('{"context": {')
        for path, sentence in ((self.write("failed.json", output(failed)),
                                "softmax/f32/8x32/iterations:101/manual_time failed: wrong"),
                               (self.write("other.json", {"rows": []}), "is not what --benchmark_out wrote"),
                               (self.path("cut.json"), "cut.json"), (self.path("absent.json"), "No such file")):
            done = self.run_script("make", path, "--driver", "1", "--out", self.path("made.json"))
            self.assertEqual(done.returncode, 1)
            self.assertIn(sentence, done.stderr)
            self.assertFalse(os.path.exists(self.path("made.json")))


if __name__ == "__main__":
    unittest.main()
