"""Named checks that all run, whatever the others do."""

import sys
import traceback

_checks = []


def check(function):
    """Registers a function; its name, with spaces, is what it claims."""
    _checks.append(function)
    return function


def equal(found, wanted):
    if found != wanted or type(found) is not type(wanted):
        raise AssertionError(f"found {found!r} ({type(found).__name__}), wanted {wanted!r} ({type(wanted).__name__})")


def raises(kind, function, *arguments, **named):
    """The error of this kind that a call ends with."""
    try:
        function(*arguments, **named)
    except kind as error:
        return error
    raise AssertionError(f"{function} did not raise {kind.__name__}")


def run():
    """Runs all checks, or those whose names contain an argument. Exits with 1 if one fails."""
    wanted = sys.argv[1:]
    failed = 0
    chosen = [c for c in _checks if not wanted or any(part in c.__name__ for part in wanted)]
    for function in chosen:
        try:
            function()
        except Exception:
            failed += 1
            print(f"FAILED {function.__name__.replace('_', ' ')}", file=sys.stderr)
            traceback.print_exc()
    print(f"{len(chosen) - failed} of {len(chosen)} checks passed")
    sys.exit(1 if failed or not chosen else 0)
