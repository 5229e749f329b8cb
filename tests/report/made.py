"""Files as the commands write them, made up, so that a page has everything on it, at any size."""

import datetime
import json
import sqlite3

LINE = "v1 softmax/no-hazard x=f32[1x65] fill=constant(0) | y=f32[1x65] | device=emulated schedule=fair"
HOSTILE = "</script><script>alert('x')</script> & \"quoted\" <b>"


def job(operator, name, dtype, device="emulated", verdict="pass", cases=20):
    errors = {
        f"{operator}_warp": {
            "ulps": [[0, 100], [0.5, 1000], [1.0, 100], [2.0, 3]],
            "shares": [[0, 100], [0.05, 1000], [1.0, 103]],
        },
        f"{operator}_block": {
            "ulps": [[0, 10], [0.5, 100], ["+inf", 3]],
            "shares": [[0, 10], [0.05, 100], ["+inf", 3]],
        },
    }
    return {
        "operator": operator,
        "property": name,
        "dtype": dtype,
        "device": device,
        "cases": cases,
        "skipped": 0,
        "launches": 5 * cases,
        "compared": 1319,
        "needed_multiprecision": 1,
        "max_error_ratio": 0.99,
        "max_ulp": "+inf" if verdict == "violation" else 1.25,
        "verdict": verdict,
        "stopped": False,
        "variants": {f"{operator}_warp": cases - 3, f"{operator}_block": 3},
        "proven_variants": {f"{operator}_warp": cases - 3},
        "classes": {},
        "errors": errors,
    }


def failure(line=LINE, verdict="race", **more):
    return {
        "case": line,
        "cause": line,
        "verdict": verdict,
        "compared": 65,
        "launches": 1,
        "needed_multiprecision": 0,
        "max_error_ratio": "+inf",
        "max_ulp": "+inf",
        "sum_squared_ulp": 0,
        "message": "under schedule fair; it failed in 3 of 3 fresh processes",
        **more,
    }


RACE = failure(
    cause="softmax race reduce.hpp:31 softmax.cu:58",
    neighbour="fails at cols=65, passes at 64",
    findings=[
        "race: write by block (0,0,0) thread 0 at softmax.cu:58 and read by block (0,0,0) thread 127 at reduce.hpp:31 "
        "are not ordered: byte 0 of a shared array of 128 bytes"
    ],
    sources=[
        {"place": "softmax.cu:58", "line": 58, "file": "kernels/softmax/softmax.cu",
         "text": "    slot[0] = a < b ? a : b;"},
        {"place": "reduce.hpp:31", "line": 31, "file": "kernels/primitives/reduce.hpp", "text": "  return slot[0];"},
    ],
)
ROW = {
    "output": "y",
    "row": 0,
    "first": 0,
    "element": 64,
    "input": [0.5] * 65,
    "exact": [1 / 65] * 65,
    "bound": [1e-8] * 65,
    "actual": [1 / 65] * 63 + [0.5, "nan"],
}
VIOLATION = failure(
    LINE.replace("no-hazard", "within-error-bound"),
    "violation",
    row=ROW,
    neighbour="fails at cols=65, passes at 64",
    explanation=[
        {
            "title": "What the contract demands",
            "sentences": ["y = e^x / sum."],
            "table": [["step", "exact"], ["maximum", "0"]],
        }
    ],
    worst={
        "tensor": "y",
        "row": 0,
        "col": 64,
        "input": 0.5,
        "actual": "nan",
        "actual_hex": "nan",
        "expected": 1.0,
        "expected_hex": "0x1p+0",
        "expected_text": "1",
        "error": "+inf",
        "bound": 1e-7,
        "error_ulp": "+inf",
    },
)


def verify(
    operators=("softmax", "argmax"),
    names=("within-error-bound", "misalignment"),
    failures=(RACE, VIOLATION),
    device="emulated",
    candidate="builtin",
):
    jobs = [job(o, n, t, device) for o in operators for n in names for t in ("f32", "bf16")]
    jobs.append(job("softmax", "no-hazard", "f32", device, "race" if failures else "pass"))
    return {
        "schema": "warpcheck-verify-1",
        "version": "0.9.0",
        "candidate": candidate,
        "device": device,
        "device_name": f"device {device}",
        "seed": 1,
        "cases": 20,
        "exit_code": 1 if failures else 0,
        "interrupted": False,
        "jobs": jobs,
        "failures": list(failures),
        "regressions": 0,
        "coverage": [],
        "unreached_variants": [],
        "unmet_classes": [],
        "not_run": [{"operator": "scan", "property": "misalignment", "dtypes": ["f32"], "why": "not asked for"}],
        "sentences": {"softmax/misalignment": "every combination of misalignment is right"},
        "timing": {"begun": "2026-11-25T18:00:00Z", "seconds": 12.5, "job_seconds": {}},
    }


def fuzz():
    report = failure(LINE.replace("no-hazard", "long-accumulation"), "violation", worst=VIOLATION["worst"])
    return {
        "schema": "warpcheck-fuzz-1",
        "version": "0.9.0",
        "candidate": "builtin",
        "device": "emulated",
        "device_name": "device emulated",
        "options": "",
        "seed": 7,
        "shard": "0/1",
        "rounds": 3,
        "cases": 600,
        "exit_code": 1,
        "interrupted": False,
        "properties": [
            {
                "property": "softmax/long-accumulation",
                "cases": 300,
                "skipped": 0,
                "failures": 4,
                "compared": 100,
                "max_error_ratio": "+inf",
            },
            {
                "property": "softmax/misalignment",
                "cases": 300,
                "skipped": 0,
                "failures": 0,
                "compared": 100,
                "max_error_ratio": 0.9,
                "failure_probability_below": 0.01,
            },
        ],
        "coverage": [],
        "timing": {"begun": "2026-11-25T19:00:00Z", "seconds": 60, "cases_per_second": 10},
        "findings": [
            {
                "name": "softmax-depth-1234abcd",
                "verdict": "violation",
                "shape_class": "one-tile",
                "case": report["case"],
                "message": "as the finding states",
                "failures": 4,
                "report": report,
            }
        ],
    }


def mutants():
    def one(identity, operator, outcome, coarse, fine, kernel=True):
        return {
            "id": identity,
            "operator": operator,
            "file": f"kernels/{operator}/{operator}.cu",
            "kernel": kernel,
            "expected": "long-accumulation",
            "outcome": outcome,
            "coarse_rejects": coarse,
            "fine_rejects": fine,
        }

    return {
        "schema": "warpcheck-mutants-1",
        "version": "0.9.0",
        "seed": 1,
        "cases": 100,
        "exit_code": 1,
        "interrupted": False,
        "mutants": [
            one("no-maximum-subtracted", "softmax", "killed", True, True),
            one("maximum-starts-at-lowest-finite", "softmax", "killed", False, True),
            one("sum-reuses-maximum-scratch", "softmax", "survived", False, False),
            one("statuses-not-cleared", "scan", "killed", False, False),
            one("CO-01", "comparator", "killed", False, False, False),
            one("EQ-01", "scan", "equivalent", False, False),
        ],
    }


def benchmark():
    row = {
        "name": "softmax/f32/65536x1024/iterations:1",
        "label": "softmax_warp peer:cudnn",
        "median_us": 128.0,
        "GBps": 4170.0,
        "limit_us": 127.0,
        "fraction_of_limit": 0.992,
        "us of torch": 131.0,
        "us of cudnn": 226.0,
        "peer_us": 226.0,
        "ratio_to_peer": 0.566,
        "ratio_low": 0.56,
        "ratio_high": 0.57,
    }
    return {
        "context": {"gpu": "NVIDIA H200", "commit": "72b979e", "date": "2026-11-25T10:00:00"},
        "benchmarks": [
            row,
            {**row, "name": "softmax/f32/1x7", "us of torch": 100.0, "error_occurred": False},
            {"name": "softmax/f32/9x9", "error_occurred": True, "error_message": "wrong at row 3"},
            {
                "name": "matmul/tf32x3/512x512x512/iterations:21/manual_time",
                "median_us": 10.0,
                "tflops": 26.8,
                "fma_limit_tflops": 60.0,
                "layer_us": 11.0,
                "cuBLAS f32 us": 12.5,
                "cuBLAS tf32 us": 2.0,
            },
            {
                "name": "gru/8x64x256/forward/iterations:21/manual_time",
                "label": "cluster",
                "real_time": 0.5,
                "time_unit": "ms",
                "TFLOP/s": 3.0,
                "of_cudnn": 1.25,
            },
        ],
    }


def history(path, tables):
    """nightly.db by the suite's own writer; `tables` is ci/nights/history.py."""
    db = tables.History(path)
    begin = datetime.datetime(2026, 11, 1, tzinfo=datetime.timezone.utc)
    with db.transaction():
        for i in range(14):
            begun = (begin + datetime.timedelta(days=i)).isoformat(timespec="seconds")
            kind, status = ("missed", "red") if i == 5 else ("night", "red" if i == 7 else "green")
            db.insert(
                "run",
                id=f"n{i:02}",
                kind=kind,
                begun=begun,
                cases=None if kind == "missed" else 10000 + 10 * i,
                seconds=3600.0,
                cases_per_second=2.8,
                shards=2,
                shards_done=2,
                failures=0,
                new_findings=0,
                status=status,
                reason="the night did not run" if kind == "missed" else "",
            )
            if kind == "night":
                db.insert(
                    "row",
                    run=f"n{i:02}",
                    kind="benchmark",
                    name="softmax/f32/65536x1024",
                    device="cuda",
                    value=128.0 if i < 9 else 140.0,
                    unit="us",
                )
                db.insert(
                    "row",
                    run=f"n{i:02}",
                    kind="a/a",
                    name="softmax/f32/65536x1024",
                    device="cuda",
                    value=1.002 if i != 3 else 1.08,
                    unit="ratio",
                )
        db.insert(
            "finding",
            name="softmax-depth-1234abcd",
            operator="softmax",
            property="long-accumulation",
            verdict="violation",
            shape_class="one-tile",
            case_line=LINE.replace("no-hazard", "long-accumulation"),
            message=HOSTILE,
            first_run="n07",
        )
        db.insert(
            "change", series="benchmark softmax/f32/65536x1024 cuda", run="n09", before=128.0, after=140.0, p=1e-6
        )
    db.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.db.close()
    assert sqlite3.connect(path).execute("PRAGMA user_version").fetchone()[0] == tables.VERSION


def write(folder, name, content):
    path = folder / name
    path.write_text(json.dumps(content))
    return str(path)
