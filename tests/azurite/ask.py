"""Asks Rowkey the questions of expected.json and compares its answers, and its access paths, with the expected ones.

    ask.py --expected FILE --data FOLDER [--quiet] -- ROWKEY...

Exits with status 1, naming every question that was answered differently.
"""

import argparse
import csv
import io
import json
import re
import subprocess
import sys
from datetime import datetime, timezone

ACCESS_PATHS = ("point", "range", "partition", "table")


def same(expected, text):
    """Compares a JSON value with a CSV field. CSV does not tell NULL from empty text."""
    if expected is None:
        return text == ""
    if isinstance(expected, bool):
        return text.lower() in (("true", "t") if expected else ("false", "f"))
    if isinstance(expected, int):
        return re.fullmatch(r"-?\d+", text) is not None and int(text) == expected
    if isinstance(expected, float):
        # Sums of doubles depend on the order of the addends.
        return abs(float(text) - expected) <= 1e-9 * max(1.0, abs(expected))
    if re.match(r"\d{4}-\d\d-\d\dT", expected):
        return instant(text) == instant(expected)
    return text == expected


def instant(text):
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)


def difference(question, header, rows):
    if header != question["columns"]:
        return f"columns {header}, expected {question['columns']}"
    if len(rows) != len(question["rows"]):
        return f"{len(rows)} rows, expected {len(question['rows'])}"
    for number, (row, expected) in enumerate(zip(rows, question["rows"]), 1):
        if len(row) != len(expected) or not all(map(same, expected, row)):
            return f"row {number} is {row}, expected {expected}"
    return None


class Rowkey:
    def __init__(self, command, data):
        self.command, self.data = command, data

    def sql(self, query, output):
        done = subprocess.run(
            [*self.command, "sql", "--data", self.data, "--output", output, query],
            stdin=subprocess.DEVNULL, capture_output=True,
        )
        if done.returncode != 0:
            raise RuntimeError(f"exit status {done.returncode}: {done.stderr.decode(errors='replace').strip()}")
        # Decoded here, not by subprocess, which would turn a CR LF inside a value into LF.
        return done.stdout.decode("utf-8")

    def rows(self, query):
        """Header and rows; a line feed inside quotes belongs to its field."""
        header, *rows = csv.reader(io.StringIO(self.sql(query, "csv"), newline=""))
        return header, rows

    def access_path(self, query):
        """The access path that access_paths() reports: the one field that is the name of one."""
        literal = query.replace("'", "''")
        _, rows = self.rows(f"SELECT * FROM access_paths('{literal}')")
        found = [field for row in rows for field in row if field in ACCESS_PATHS]
        if len(found) != 1:
            raise RuntimeError(f"access_paths() named {found} for a query of one table: {rows}")
        return found[0]


def wrong(rowkey, question, show):
    """What is wrong with the answer to one question, or None."""
    found = difference(question, *rowkey.rows(question["sql"]))
    if found or not question["access_path"]:
        return found
    claimed = rowkey.access_path(question["sql"])
    if claimed != question["access_path"]:
        return f"read as {claimed}, expected {question['access_path']}"
    plan = rowkey.sql("EXPLAIN " + question["sql"], "table")
    show(plan)
    # "range partitions" is what every plan counts; it says nothing about the access path.
    if not re.search(rf"\b{claimed}\b", re.sub(r"range partitions?", "", plan)):
        return f"EXPLAIN does not say that it is a {claimed} read:\n{plan}"
    return None


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--expected", required=True)
    arguments.add_argument("--data", required=True)
    arguments.add_argument("--quiet", action="store_true", help="print failures only")
    arguments.add_argument("rowkey", nargs="+")
    options = arguments.parse_args()

    show = (lambda text: None) if options.quiet else (lambda text: print(text, file=sys.stderr))
    rowkey = Rowkey(options.rowkey, options.data)
    with open(options.expected, encoding="utf-8") as file:
        questions = json.load(file)
    failures = 0
    for question in questions:
        show(f"-- {question['name']}\n{question['sql']}")
        try:
            problem = wrong(rowkey, question, show)
        except (RuntimeError, ValueError) as error:
            problem = str(error)
        if problem:
            failures += 1
            print(f"WRONG: {question['name']}\n  {question['sql']}\n  {problem}", file=sys.stderr)
    if failures or not questions:
        sys.exit(f"{failures} of {len(questions)} questions were answered differently")
    show(f"{len(questions)} questions answered as expected")


if __name__ == "__main__":
    main()
