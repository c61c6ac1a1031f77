#!/usr/bin/env bash
# A newcomer's first hour, for real: the official SDK fetches tables page by page from the Azurite emulator, and Rowkey
# imports the pages and answers questions about them. Then it imports the emulator's own database file: the answers have to
# be the same, and the entities those of the pages.
#
#   tests/azurite/run.sh [--fetch-only FOLDER]
#
# Needs node with npm, and python3 with venv. Settings, all optional:
#   ROWKEY              the binary to test               default: cargo run --release
#   ROWKEY_TEST_CACHE   where Azurite and the SDK go     default: ~/.cache/rowkey-tests
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$here/../.."
cache=${ROWKEY_TEST_CACHE:-$HOME/.cache/rowkey-tests}
azurite_version=3.35.0 # the last release that runs on the node of Debian stable (18 and 20)
sdk_version=12.7.0

say() { printf '\n== %s\n' "$*" >&2; }
fail() { printf 'tests/azurite/run.sh: %s\n' "$*" >&2; exit 1; }

fetch_only=
if [ "${1:-}" = --fetch-only ]; then
  fetch_only=${2:?--fetch-only needs a folder}
  mkdir -p "$fetch_only"
elif [ $# -gt 0 ]; then
  fail "unknown argument '$1'; the only one is --fetch-only FOLDER"
fi
command -v npm >/dev/null || fail "npm is missing: install node with npm (Debian: apt-get install nodejs npm)"
command -v python3 >/dev/null || fail "python3 is missing (Debian: apt-get install python3 python3-venv)"

work=$(mktemp -d)
azurite_pid=
stop() {
  if [ -n "$azurite_pid" ]; then
    kill "$azurite_pid" 2>/dev/null || true
    wait "$azurite_pid" 2>/dev/null || true
    azurite_pid=
  fi
}
trap 'stop; rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# A folder is complete once its stamp is there; an interrupted install is done again.
say "Azurite $azurite_version and the SDK azure-data-tables $sdk_version in $cache"
azurite=$cache/azurite-$azurite_version
if [ ! -f "$azurite/.complete" ]; then
  mkdir -p "$azurite"
  npm install --prefix "$azurite" --no-fund --no-audit --loglevel=error "azurite@$azurite_version" >&2 </dev/null ||
    fail "npm could not install azurite@$azurite_version (is the package registry reachable?)"
  touch "$azurite/.complete"
fi
sdk=$cache/azure-data-tables-$sdk_version
if [ ! -f "$sdk/.complete" ]; then
  python3 -m venv --clear "$sdk" || fail "python3 could not make a virtual environment (Debian: apt-get install python3-venv)"
  "$sdk/bin/pip" install --quiet --disable-pip-version-check "azure-data-tables==$sdk_version" >&2 ||
    fail "pip could not install azure-data-tables==$sdk_version (is the package index reachable?)"
  touch "$sdk/.complete"
fi

# The port is free when asked for; should another process take it before Azurite does, another one is tried.
say "start Azurite's table service"
mkdir "$work/azurite"
for attempt in 1 2 3; do
  port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
  (cd "$work" && exec node "$azurite/node_modules/azurite/dist/src/table/main.js" --location "$work/azurite" --disableTelemetry \
    --silent --skipApiVersionCheck --tableHost 127.0.0.1 --tablePort "$port") >"$work/azurite.log" 2>&1 </dev/null &
  azurite_pid=$!
  for _ in $(seq 300); do
    grep -q 'successfully started' "$work/azurite.log" && break 2
    kill -0 "$azurite_pid" 2>/dev/null || break
    sleep 0.2
  done
  stop
  echo "attempt $attempt failed:" >&2
  cat "$work/azurite.log" >&2
done
[ -n "$azurite_pid" ] || fail "Azurite did not start; its output is above"

say "seed two tables and fetch every page"
"$sdk/bin/python" "$here/fetch_pages.py" --endpoint "http://127.0.0.1:$port/devstoreaccount1" --out "${fetch_only:-$work}"

# The emulator saves its database every five seconds if anything changed, under another name first: either it did so after
# the last entity, or it will by then.
database=$work/azurite/__azurite_db_table__.json
touch "$work/written"
for _ in $(seq 35); do
  [ "$database" -nt "$work/written" ] && break
  sleep 0.2
done
stop
[ -f "$database" ] || fail "Azurite did not save its database"
if [ -n "$fetch_only" ]; then
  cp "$database" "$fetch_only"
  echo "pages, the database and expected.json are in $fetch_only" >&2
  exit 0
fi

rowkey=(cargo run --quiet --release --locked --)
[ -z "${ROWKEY:-}" ] || rowkey=("$ROWKEY")
data=$work/data

say "import the pages"
"${rowkey[@]}" import --data "$data" --table Employees "$work/pages/Employees"
"${rowkey[@]}" import --data "$data" --table Departments "$work/pages/Departments"

say "ask"
python3 "$here/ask.py" --expected "$work/expected.json" --data "$data" -- "${rowkey[@]}"

say "import the same entities again, this time with full metadata: nothing changes"
"${rowkey[@]}" import --data "$data" --table Employees "$work/pages-full/Employees"
python3 "$here/ask.py" --quiet --expected "$work/expected.json" --data "$data" -- "${rowkey[@]}"

say "import the emulator's database, every table of it"
from_database=$work/data-of-database
"${rowkey[@]}" import --data "$from_database" "$database"
python3 "$here/ask.py" --quiet --expected "$work/expected.json" --data "$from_database" -- "${rowkey[@]}"

say "its entities are those of the pages: importing either over the other changes nothing"
for table in Employees Departments; do
  "${rowkey[@]}" import --data "$from_database" --table "$table" "$work/pages/$table" | tee "$work/report" | grep -A7 '^table '
  grep -Eq '^  inserted +0$' "$work/report" && grep -Eq '^  replaced +0$' "$work/report" && grep -Eq '^  older +0$' "$work/report" ||
    fail "the pages of $table differ from the database"
  "${rowkey[@]}" import --data "$data" --table "$table" "$database" >"$work/report"
  grep -Eq '^  inserted +0$' "$work/report" && grep -Eq '^  replaced +0$' "$work/report" && grep -Eq '^  older +0$' "$work/report" ||
    fail "the database differs from the pages of $table"
done

say "check the stores"
"${rowkey[@]}" check --data "$from_database"
"${rowkey[@]}" check --data "$data"

say "all answers agree with what the SDK returned"
