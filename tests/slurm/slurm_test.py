"""A night on a Slurm cluster of one controller and two nodes on this machine, of which one dies. Run by CTest."""

import getpass
import os
import pathlib
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest

SOURCE = pathlib.Path(os.environ["WARPCHECK_SOURCE"])
WARPCHECK = os.environ["WARPCHECK"]
RIGHT = os.environ["WARPCHECK_RIGHT"]
SHARDS = 4
NIGHT = ["--device", "cpu", "--seed", "11", "--cases", "4000", "--skip", "mutants", "softmax"]
FUZZ = ["--", "--candidate", RIGHT, "--size", "quick", "--dtype", "f32", "--property", "long-accumulation",
        "--workers", "1"]

for program in ("slurmctld", "slurmd", "sbatch"):
    if not shutil.which(program, path=os.environ["PATH"] + ":/usr/sbin"):
        print(f"WARPCHECK_SKIP: {program} is not installed (ci/packages)")
        sys.exit(0)
os.environ["PATH"] += ":/usr/sbin"


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for s in sockets:
        s.bind(("127.0.0.1", 0))
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


class Cluster:
    """No munge, no cgroups, no systemd: daemons of this user, with a scratch folder. A site has all three."""

    def __init__(self, folder):
        self.folder, host, user = folder, socket.gethostname(), getpass.getuser()
        ctld, slurmd, *nodes = free_ports(4)
        for name in ("state", "spool"):
            (folder / name).mkdir()
        settings = f"""ClusterName=warpcheck
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/none
CredType=cred/none
AuthInfo=cred_expire=10
SlurmctldPort={ctld}
SlurmdPort={slurmd}
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MailProg=/bin/true
JobRequeue=1
SlurmctldTimeout=10
SlurmdTimeout=10
KillWait=2
ReturnToService=2
SchedulerParameters=batch_sched_delay=0,sched_interval=5
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={nodes[0]} CPUs=2 State=UNKNOWN
NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={nodes[1]} CPUs=2 State=UNKNOWN
PartitionName=main Nodes=n1,n2 Default=YES MaxTime=INFINITE State=UP
"""
        (folder / "slurm.conf").write_text(settings)
        os.environ["SLURM_CONF"] = str(folder / "slurm.conf")
        self.processes = [
            subprocess.Popen(["slurmctld", "-D", "-c"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        ]
        for node in ("n1", "n2"):
            self.processes.append(
                subprocess.Popen(["slurmd", "-D", "-N", node], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            )
        wait_for(
            "two idle nodes",
            lambda: self.said("sinfo", "-h", "-N", "-o", "%T").split() == ["idle", "idle"],
            30,
            self.logs,
        )

    def said(self, *command):
        return subprocess.run(command, capture_output=True, text=True).stdout

    def jobs(self):
        """(array task, state, node) of the jobs that are not over."""
        return [tuple(line.split("|")) for line in self.said("squeue", "-h", "-r", "-o", "%K|%T|%N").splitlines()]

    def logs(self):
        return "\n".join(
            f"== {path.name}\n" + path.read_text(errors="replace")[-1500:] for path in self.folder.glob("*.log")
        )

    def stop(self):
        subprocess.run(["scancel", "-u", getpass.getuser()], capture_output=True)
        for process in self.processes:
            process.kill()
            process.wait()
        for pid, environment in environments():
            if environment.get("SLURM_CONF") == str(self.folder / "slurm.conf") or "SLURMD_NODENAME" in environment:
                kill(pid)


def environments():
    """Process -> its environment, of those that this user may read."""
    for path in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            pairs = (path / "environ").read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        yield int(path.name), dict(pair.split("=", 1) for pair in pairs if "=" in pair)


def parent_of(pid):
    try:
        return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
    except OSError:
        return 0


def name_of(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def kill(pid, number=signal.SIGKILL):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass  # workers of a round end with it


def wait_for(what, condition, seconds, explain):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"{what}: not within {seconds} s\n{explain()}")
        time.sleep(0.2)


def processes_of(node):
    """Process to the number of its shard."""
    return {
        pid: int(e["SLURM_ARRAY_TASK_ID"])
        for pid, e in environments()
        if e.get("SLURMD_NODENAME") == node and "SLURM_ARRAY_TASK_ID" in e
    }


def stop(listed):
    """Stops the processes that listed() names, and those that they start meanwhile."""
    stopped = set()
    while new := set(listed()) - stopped:
        for pid in new:
            kill(pid, signal.SIGSTOP)
        stopped |= new
    return stopped


def contents(out):
    with sqlite3.connect(out / "nightly.db") as db:
        return [
            db.execute(query).fetchall()
            for query in (
                "SELECT seed, shards, shards_done, cases, failures, status FROM run",
                "SELECT name, cases, skipped, failures, compared, max_error_ratio FROM row ORDER BY name",
            )
        ]


class Slurm(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def submit(self, *arguments):
        return subprocess.run(
            [SOURCE / "ci/slurm/submit", "--warpcheck", WARPCHECK, *arguments], capture_output=True, text=True
        )

    def test_jobs_say_what_a_site_needs(self):
        r = self.submit(
            "--dry-run",
            "--device",
            "cuda",
            "--shards",
            "8",
            "--time",
            "2h",
            "--sbatch",
            "--partition=gpus",
            "--out",
            self.folder / "o",
        )
        self.assertEqual(r.returncode, 0, r.stderr)
        array, merge = r.stdout.splitlines()
        for option in (
            "--array=0-7",
            "--gres=gpu:1",
            "--requeue",
            "--open-mode=append",
            "--signal=B:USR1@60",
            "--partition=gpus",
        ):
            self.assertIn(option, array)
        self.assertIn("--dependency=afterok:", merge)
        self.assertNotIn("--gres", merge)
        self.assertFalse((self.folder / "o").exists())  # a plan that nobody runs would be a red night
        self.assertIn("'2x' is not a time", self.submit("--dry-run", "--shards", "8", "--time", "2x").stderr)
        r = self.submit("--dry-run", "--device", "tpu", "--shards", "8", "--time", "2h")
        self.assertEqual((r.returncode, r.stderr), (2, "submit: device: 'tpu' is not one of emulated, cuda, cpu\n"))
        self.assertIn("--shards", self.submit("--dry-run", "--time", "2h").stderr)

    def test_a_node_dies_and_a_slurmd_dies_alone(self):
        """Of two shards on a node that is given up one is dead, and one lives on: two copies of it run."""
        out = self.folder / "out"
        cluster = Cluster(self.folder)
        self.addCleanup(cluster.stop)
        begin = time.monotonic()
        r = self.submit("--shards", str(SHARDS), "--out", out, *NIGHT, *FUZZ)
        self.assertEqual(r.returncode, 0, r.stderr)
        shards = lambda: next((out / "nights").glob("*")) / "shards"
        begun = lambda task: list(shards().glob(f"{task}/attempt-1/fuzz/shard-*/round-*"))
        wait_for("four shards at work", lambda: all(begun(task) for task in range(SHARDS)), 40, cluster.logs)
        on_n2 = sorted(int(task) for task, _, node in cluster.jobs() if node == "n2")
        self.assertEqual(len(on_n2), 2, cluster.jobs())
        dead, alive = on_n2
        cluster.processes[2].kill()  # slurmd of n2
        cluster.processes[2].wait()
        own = processes_of("n2")
        self.assertEqual(set(own.values()), {dead, alive})
        of_dead = [pid for pid, task in own.items() if task == dead]
        # Whoever watches a job dies first, or he would report the job as failed.
        for pid in sorted(of_dead, key=lambda pid: name_of(parent_of(pid)) != "slurmstepd"):
            if name_of(parent_of(pid)) == "slurmstepd":
                kill(parent_of(pid))
            kill(pid)
        # The other's node is out of reach for a while, and comes back when its shard is in other hands.
        of_alive = stop(lambda: [pid for pid, task in processes_of("n2").items() if task == alive])
        wait_for("a second copy", lambda: (shards() / f"{alive}/attempt-2").exists(), 120, cluster.logs)
        for pid in of_alive:
            kill(pid, signal.SIGCONT)
        wait_for(
            "the merge",
            lambda: (out / "nightly.db").exists() and not cluster.jobs(),
            150,
            lambda: f"{cluster.jobs()}\n{cluster.logs()}\n" + "\n".join(p.read_text() for p in out.glob("slurm-*")),
        )
        attempts = {task: len(list(shards().glob(f"{task}/attempt-*"))) for task in range(SHARDS)}
        print(f"attempts {attempts}, dead {dead}, alive {alive}, {time.monotonic() - begin:.0f} s")
        self.assertEqual(attempts[dead], 2)
        text = "\n".join(path.read_text() for path in out.glob("slurm-*.log"))
        self.assertEqual(attempts[alive], 2, text)
        self.assertRegex(
            text, f"shard {alive}: attempt 1 was overtaken by attempt 2 and stops|attempt 1 of .*/{alive} came too late"
        )
        self.assertEqual(text.count("summary:"), 1, text)  # merged once
        whole = self.folder / "whole"
        subprocess.run(
            [SOURCE / "ci/nightly", "--shards", str(SHARDS), "--out", whole, "--warpcheck", WARPCHECK, *NIGHT, *FUZZ],
            capture_output=True,
            check=True,
        )
        self.assertEqual(contents(out), contents(whole))


if __name__ == "__main__":
    unittest.main()
