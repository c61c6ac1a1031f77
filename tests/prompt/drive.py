"""Types at the prompt of `rowkey sql` in a pseudo-terminal: drive.py ROWKEY FOLDER. Says each step; fails at the first that
does not come out."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time

ROWKEY, FOLDER = sys.argv[1:3]
SECONDS = 60
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]|\x07|\r")


class Terminal:
    """A child at a terminal of 24 lines."""

    def __init__(self, *arguments, **variables):
        environment = {"PATH": os.environ["PATH"], "TERM": "xterm", "HOME": FOLDER, "PAGER": "", **variables}
        self.pid, self.end = pty.fork()
        if self.pid == 0:
            os.execve(ROWKEY, [ROWKEY, *arguments], environment)
        fcntl.ioctl(self.end, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
        # What came in all, without what moves the cursor; how much of it was expected before; what is left of it.
        self.all = ""
        self.taken = 0
        self.seen = ""

    def read(self, seconds):
        """Adds what comes within so many seconds; False if nothing does."""
        ready, _, _ = select.select([self.end], [], [], seconds)
        if not ready:
            return False
        try:
            read = os.read(self.end, 1 << 16)
        except OSError:
            read = b""
        if not read:
            raise EOFError
        self.all += read.decode("utf-8", "replace")
        self.seen = ESCAPES.sub("", self.all)[self.taken :]
        return True

    def expect(self, wanted, what, seconds=SECONDS):
        """Waits for a pattern and forgets everything up to its end."""
        until = time.monotonic() + seconds
        while True:
            found = re.search(wanted, self.seen)
            if found:
                self.taken += found.end()
                self.seen = self.seen[found.end() :]
                print(f"ok: {what}")
                return
            left = until - time.monotonic()
            try:
                if left <= 0 or not self.read(left) and time.monotonic() >= until:
                    self.fail(wanted, what, "nothing more came")
            except EOFError:
                self.fail(wanted, what, "it ended")

    def fail(self, wanted, what, why):
        print(f"FAILED: {what}: {why} while waiting for {wanted!r}; seen:\n{self.seen}")
        os.kill(self.pid, signal.SIGKILL)
        sys.exit(1)

    def type(self, text):
        os.write(self.end, text.encode())

    def press(self, key, wanted, what):
        """Presses a key until it comes out: a slow machine may not have begun yet, or have been out of patience."""
        for _ in range(SECONDS // 3):
            self.type(key)
            until = time.monotonic() + 3
            while time.monotonic() < until and self.read(max(0, until - time.monotonic())):
                if re.search(wanted, self.seen):
                    break
            if re.search(wanted, self.seen):
                break
        self.expect(wanted, what, 0)

    def prompt(self, wanted=r"rowkey=> $"):
        self.expect(wanted, "a prompt")

    def ends(self, what):
        """Expects the child to end well."""
        try:
            while self.read(SECONDS):
                pass
            self.fail("the end", what, "nothing more came")
        except EOFError:
            pass
        _, status = os.waitpid(self.pid, 0)
        if status != 0:
            self.fail("status 0", what, f"status {status}")
        print(f"ok: {what}")


def main():
    terminal = Terminal("sql", "--sample", "--prompt")
    terminal.expect(r"rowkey \d+\.\d+\.\d+, in memory, nothing is kept, 5 tables", "the banner")
    terminal.prompt()

    terminal.type("SELECT count(*) AS everybody,\r")
    terminal.expect(r"rowkey-> $", "a prompt that goes on")
    terminal.type("'a;\r")
    terminal.expect(r"rowkey'> $", "a prompt in quotes")
    terminal.type("b' AS text FROM Employees;\r")
    terminal.expect(r" everybody \| text\s+-+\+-+\s+ +48000 \| a; *\+\s+\| b\s+\(1 row\)", "a statement of three lines")
    terminal.prompt()

    terminal.type("\\d departments\r")
    terminal.expect(r'Table "public\.Departments"', "the title of \\d")
    terminal.expect(r" PartitionKey +\| text +\| not null +\| partition", "a key column")
    terminal.expect(r"Stored: 12 entities in 1 range partition, 1 file, [\d,]+ bytes", "the facts of a table")
    terminal.prompt()

    # Tab: a table, then a key value, in one statement.
    terminal.type("SELECT count(*) FROM Depa")
    terminal.press("\t", r"FROM Departments", "a table is completed")
    terminal.type(" JOIN Employees e ON true WHERE e.PartitionKey = 'Sal")
    terminal.press("\t", r"= 'Sales'", "a key value is completed")
    terminal.type(" AND false;\r")
    terminal.expect(r"\n +0\s+\(1 row\)", "the completed statement runs")
    terminal.prompt()

    terminal.type("SELECT nonsense FROM Employees;\r")
    terminal.expect(r'ERROR:  column "nonsense" does not exist\nLINE 1: SELECT nonsense FROM Employees\n +\^', "an error")
    terminal.prompt()

    # Ctrl-C at the prompt, in a statement, and while one runs.
    terminal.type("SELECT (1\r")
    terminal.expect(r"rowkey\(> $", "a prompt in parentheses")
    terminal.type("\x03")
    terminal.prompt()
    terminal.type("SELECT count(*) FROM Employees a, Employees b, Employees c WHERE a.Age + b.Age + c.Age = 7;\r")
    time.sleep(1)
    terminal.press("\x03", r"ERROR:  canceling statement due to user request", "Ctrl-C cancels the statement")
    terminal.prompt()

    terminal.type("BEGIN;\r")
    terminal.expect(r"BEGIN\n", "a tag")
    terminal.prompt(r"rowkey=\*> $")
    terminal.type("SELECT nonsense;\r")
    terminal.prompt(r"rowkey=!> $")
    terminal.type("ROLLBACK;\r")
    terminal.prompt()

    # Values follow the settings of the session.
    terminal.type("SET TimeZone = 'Europe/Berlin';\r")
    terminal.expect(r"SET\n", "a setting")
    terminal.prompt()
    terminal.type("SELECT timestamptz '2024-06-01 12:00:00+00' AS at, ARRAY[1, 2] AS list, interval '1 day 2 hours' AS span;\r")
    terminal.expect(r"\n 2024-06-01 14:00:00\+02 \| \{1,2\} \| 1 day 02:00:00\n", "values as psql prints them")
    terminal.prompt()
    terminal.type("RESET TimeZone;\r")
    terminal.expect(r"RESET\n", "a setting is reset")
    terminal.prompt()

    # Files on this side, and names that stand for texts.
    rows = os.path.join(FOLDER, "rows.csv")
    terminal.type(f"\\copy (select 'p' as partitionkey, 'k' || n as rowkey, n as one from generate_series(1, 3) n) to '{rows}' csv header\r")
    terminal.expect(r"COPY 3\n", "rows are copied into a file")
    terminal.prompt()
    terminal.type("CREATE TABLE Copied (one int);\r")
    terminal.expect(r"CREATE TABLE\n", "a table")
    terminal.prompt()
    terminal.type(f"\\copy copied (partitionkey, rowkey, one) from '{rows}' csv header\r")
    terminal.expect(r"COPY 3\n", "and from the file")
    terminal.prompt()
    terminal.type("\\copy copied from /no/such/file\r")
    terminal.expect(r"ERROR:  /no/such/file: No such file", "a file that is not there")
    terminal.prompt()
    terminal.type("\\set key k2\r")
    terminal.prompt()
    terminal.type("SELECT one * 21 AS answer FROM copied WHERE rowkey = :'key';\r")
    terminal.expect(r" answer\s+-+\s+42\s+\(1 row\)", "a variable in a statement")
    terminal.prompt()
    terminal.type("\\echo :key is the key\r")
    terminal.expect(r"\nk2 is the key\n", "a variable in a command")
    terminal.prompt()
    terminal.type("\\du\r")
    terminal.expect(r"List of roles\n", "roles")
    terminal.prompt()
    terminal.type("\\c\r")
    terminal.expect(r'You are connected to database "\w+" as user "\w+"\.', "what is open")
    terminal.prompt()
    terminal.type("\\dt+ cop*\r")
    terminal.expect(r"public +\| Copied", "tables with a plus")
    terminal.prompt()

    terminal.type("\\x\r")
    terminal.expect(r"Expanded display is on\.", "\\x")
    terminal.prompt()
    terminal.type("\\pset null -none-\r")
    terminal.prompt()
    terminal.type("\\timing on\r")
    terminal.prompt()
    terminal.type("SELECT 1 AS one, NULL AS nothing;\r")
    terminal.expect(r"-\[ RECORD 1 \]-*\none +\| 1\nnothing \| -none-\s+Time: [\d.]+ ms", "an expanded row and its time")
    terminal.prompt()

    # The statement of three lines is one entry of the history.
    terminal.type("\x12everybody")
    terminal.expect(r"everybody", "the history is searched")
    terminal.type("\r")
    terminal.expect(r"everybody \| 48000", "a statement from the history")
    terminal.prompt()

    terminal.type("\\nonsense\r")
    terminal.expect(r"invalid command \\nonsense; try \\\? for help", "an unknown command")
    terminal.prompt()
    terminal.type("\\q\r")
    terminal.ends("\\q leaves")

    mode = os.stat(os.path.join(FOLDER, ".rowkey_history")).st_mode & 0o777
    if mode & 0o077:
        sys.exit(f"FAILED: the history has mode {mode:o}")
    print("ok: nobody else reads the history")

    # Another process: history of the one before, the pager, files, an editor, Ctrl-D.
    script = os.path.join(FOLDER, "script.sql")
    with open(script, "w", encoding="utf-8") as file:
        file.write("\\echo from the file\nSELECT 6 *\n  7 AS answer")
    editor = os.path.join(FOLDER, "editor.sh")
    with open(editor, "w", encoding="utf-8") as file:
        file.write('printf "SELECT 40 + 4 AS edited;" > "$1"\n')
    terminal = Terminal("sql", "--sample", "--prompt", PAGER="sed s/^/paged:/", EDITOR=f"sh {editor}")
    terminal.prompt()
    terminal.type("SELECT RowKey AS value FROM Employees LIMIT 100;\r")
    terminal.expect(r"paged: value", "the pager gets the heading")
    terminal.expect(r"paged:\(100 rows\)", "the pager gets all rows")
    terminal.prompt()
    terminal.type("SELECT 1 AS short;\r")
    terminal.expect(r"\n short\n", "what fits is not paged")
    terminal.prompt()
    terminal.type(f"\\i {script}\r")
    terminal.expect(r"from the file\n answer\n-+\n +42", "a file runs")
    terminal.prompt()
    with open(script, "w", encoding="utf-8") as file:
        file.write("SELECT pg_sleep(50);\n\\echo went on\n")
    terminal.type(f"\\i {script}\r")
    time.sleep(1)
    terminal.press("\x03", r"canceling statement due to user request\n(?!went on)rowkey=> $", "Ctrl-C ends a file")
    terminal.type("\\e\r")
    terminal.expect(r" edited\n-+\n +44", "an edited statement runs")
    terminal.prompt()
    terminal.type("\x04")
    terminal.ends("Ctrl-D leaves")

    # A folder of its own, into which nothing is written but by the database.
    data = os.path.join(FOLDER, "data")
    os.makedirs(data)
    terminal = Terminal("sql", "--data", data, "--prompt", ROWKEY_HISTORY=os.path.join(data, "log", "history"))
    terminal.expect(r"no history is kept: \S+/data/log/history lies in the data folder", "a history elsewhere")
    terminal.prompt()
    terminal.type(f"\\copy (select 1) to '{data}/log/{1:020}.log'\r")
    terminal.expect(r"ERROR:  \S+\.log lies in the data folder,", "\\copy goes elsewhere")
    terminal.prompt()
    terminal.type(f"\\o {data}/results\r")
    terminal.expect(r"\\o: \S+/results lies in the data folder", "\\o goes elsewhere")
    terminal.prompt()
    terminal.type("SELECT 6 * 8 AS answer;\r")
    terminal.expect(r" answer\s+-+\s+48\s", "results are shown")
    terminal.prompt()
    terminal.type("\\q\r")
    terminal.ends("\\q leaves")
    if os.path.exists(os.path.join(data, "results")) or os.path.exists(os.path.join(data, "log", "history")):
        sys.exit("FAILED: something was written into the data folder")
    print("all steps passed")


main()
