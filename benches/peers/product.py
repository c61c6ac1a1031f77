"""Runs the product as a user would: as a process of its own, timed, with its peak memory."""

import os
import shlex
import subprocess
import tempfile
import time
from dataclasses import dataclass


class Failed(SystemExit):
    """A command that did not succeed; ends the script with its message unless it is caught."""


@dataclass
class Run:
    seconds: float
    peak_mib: float
    stdout: bytes
    stderr: bytes


def run(command):
    """Runs a command to its end. The peak is the command's own: wait4 reports it per child."""
    # Files, not pipes: nobody reads while we wait.
    with tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        start = time.perf_counter()
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr)
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - start
        # wait4 took the status, so Popen must not wait for it again.
        child.returncode = os.waitstatus_to_exitcode(status)
        stdout.seek(0)
        stderr.seek(0)
        result = Run(seconds, usage.ru_maxrss / 1024, stdout.read(), stderr.read())
    if child.returncode != 0:
        raise Failed(f"{shlex.join(map(str, command))}\nended with status {child.returncode}:\n{result.stderr.decode(errors='replace')}")
    return result


def rowkey(*arguments):
    return run([os.environ["ROWKEY"], *map(str, arguments)])


def folder_bytes(folder, suffix=""):
    return sum(
        os.path.getsize(os.path.join(parent, name)) for parent, _, names in os.walk(folder) for name in names if name.endswith(suffix)
    )
