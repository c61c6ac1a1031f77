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
script=tests/azurite/run.sh
sdk_version=12.7.0
source "$here/emulator.sh"

fetch_only=
if [ "${1:-}" = --fetch-only ]; then
  fetch_only=${2:?--fetch-only needs a folder}
  mkdir -p "$fetch_only"
elif [ $# -gt 0 ]; then
  fail "unknown argument '$1'; the only one is --fetch-only FOLDER"
fi

say "Azurite $azurite_version and the SDK azure-data-tables $sdk_version in $cache"
install_azurite
install_sdk azure-data-tables "$sdk_version"

say "start Azurite's table service"
mkdir "$work/azurite"
start_azurite table "$work/azurite"

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
stop_azurite
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
