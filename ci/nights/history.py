"""nightly.db: the history of the nights. One writer, who holds the lock of the folder; schema in docs/nightly.md."""

import contextlib
import csv
import datetime
import pathlib
import sqlite3

VERSION = 2
TABLES = {
    "run": "id TEXT PRIMARY KEY, kind TEXT NOT NULL, begun TEXT NOT NULL, ended TEXT, machine TEXT, version TEXT, "
    "revision TEXT, seed INTEGER, shards INTEGER, shards_done INTEGER, cases INTEGER, seconds REAL, "
    "cases_per_second REAL, failures INTEGER, new_findings INTEGER, status TEXT NOT NULL, reason TEXT NOT NULL",
    "row": "run TEXT NOT NULL REFERENCES run(id), kind TEXT NOT NULL, name TEXT NOT NULL, device TEXT NOT NULL, "
    "cases INTEGER, skipped INTEGER, failures INTEGER, compared INTEGER, max_error_ratio REAL, value REAL, unit TEXT, "
    "PRIMARY KEY (run, kind, name, device)",
    "finding": "name TEXT PRIMARY KEY, operator TEXT NOT NULL, property TEXT NOT NULL, verdict TEXT NOT NULL, "
    "shape_class TEXT NOT NULL, case_line TEXT NOT NULL, message TEXT NOT NULL, first_run TEXT NOT NULL, "
    "UNIQUE (operator, property, verdict, shape_class)",
    "occurrence": "run TEXT NOT NULL REFERENCES run(id), finding TEXT NOT NULL REFERENCES finding(name), "
    "failures INTEGER NOT NULL, PRIMARY KEY (run, finding)",
    "score": "run TEXT NOT NULL REFERENCES run(id), subject TEXT NOT NULL, killed INTEGER NOT NULL, "
    "judged INTEGER NOT NULL, PRIMARY KEY (run, subject)",
    "change": "series TEXT NOT NULL, run TEXT NOT NULL REFERENCES run(id), before REAL NOT NULL, after REAL NOT NULL, "
    "p REAL NOT NULL, PRIMARY KEY (series, run)",
}


class WrongSchema(Exception):
    pass


class History:
    def __init__(self, path, read_only=False):
        """`read_only`: another has the lock of the folder, so that nothing is made or brought to this version."""
        self.path = pathlib.Path(path)
        self.db = sqlite3.connect(self.path, isolation_level=None)
        self.db.row_factory = sqlite3.Row
        try:
            version = self.db.execute("PRAGMA user_version").fetchone()[0]
        except sqlite3.DatabaseError as error:
            raise WrongSchema(f"{path}: it is not a history of nights: {error}")
        if version not in (0, VERSION):
            raise WrongSchema(f"{path}: its schema is {version}; this ci/nightly reads {VERSION}")
        if read_only and version == 0:
            raise WrongSchema(f"{path}: its schema is {version}, and a night is at work here; wait for it")
        self.db.execute("PRAGMA journal_mode = WAL")
        self.db.execute("PRAGMA foreign_keys = ON")
        if version == 0:
            with self.transaction():
                for name, columns in TABLES.items():
                    self.db.execute(f'CREATE TABLE "{name}" ({columns})')
                self.db.execute(f"PRAGMA user_version = {VERSION}")

    @contextlib.contextmanager
    def transaction(self):
        self.db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self.db.execute("ROLLBACK")
            raise
        self.db.execute("COMMIT")

    def insert(self, table, **values):
        names = ", ".join(values)
        self.db.execute(
            f'INSERT INTO "{table}" ({names}) VALUES ({", ".join("?" * len(values))})', list(values.values())
        )

    def all(self, query, *arguments):
        return self.db.execute(query, arguments).fetchall()

    def night_before(self, begun):
        """The last night that ran, or None."""
        rows = self.all("SELECT * FROM run WHERE kind = 'night' AND begun < ? ORDER BY begun DESC LIMIT 1", begun)
        return rows[0] if rows else None

    def forget(self, run):
        """What a merge of this night that was killed, or an earlier one, has written."""
        for table in ("row", "occurrence", "score"):
            self.db.execute(f'DELETE FROM "{table}" WHERE run = ?', [run])
        self.db.execute("DELETE FROM change")  # made anew by every merge
        self.db.execute("DELETE FROM finding WHERE name NOT IN (SELECT finding FROM occurrence)")
        self.db.execute("DELETE FROM run WHERE id = ?", [run])

    def add_missed(self, last, begun, every):
        """A red row for each night that should have been between two; `begun` is that of the later one."""
        at, ids = moment(last) + every, []
        while at < moment(begun) - every / 2:
            run = f"missed-{at:%Y-%m-%d-%H%M}"
            self.db.execute(
                "INSERT OR IGNORE INTO run (id, kind, begun, status, reason) VALUES (?, 'missed', ?, 'red', ?)",
                [run, text_of(at), "the night did not run"],
            )
            ids.append(run)
            at += every
        return ids

    def export(self, folder):
        folder = pathlib.Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        for table in TABLES:
            rows = self.db.execute(f'SELECT * FROM "{table}" ORDER BY rowid')
            with open(folder / f"{table}.csv", "w", newline="") as file:
                writer = csv.writer(file)
                writer.writerow([column[0] for column in rows.description])
                writer.writerows(rows)


def moment(text):
    return datetime.datetime.fromisoformat(text)


def text_of(at):
    return at.astimezone(datetime.timezone.utc).isoformat(timespec="seconds")


def now():
    return datetime.datetime.now(datetime.timezone.utc)
