#!/usr/bin/env bash
# A data folder in a blob container, read in place: the official SDK uploads it into the Azurite emulator, and Rowkey answers
# from there what it answers from the folder.
#
#   tests/azurite/blob.sh
#
# Needs node with npm, and python3 with venv. Settings, all optional:
#   ROWKEY              the binary to test               default: cargo run --release
#   ROWKEY_TEST_CACHE   where Azurite and the SDK go     default: ~/.cache/rowkey-tests
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$here/../.."
cache=${ROWKEY_TEST_CACHE:-$HOME/.cache/rowkey-tests}
script=tests/azurite/blob.sh
sdk_version=12.31.1
source "$here/emulator.sh"
[ $# -eq 0 ] || fail "unknown argument '$1'; there are none"

# Nobody's own credentials.
for name in $(compgen -e | grep -E '^(AZURE_|AZURITE_)' || true); do unset "$name"; done

rowkey=(cargo run --quiet --release --locked --)
[ -z "${ROWKEY:-}" ] || rowkey=("$ROWKEY")
data=$work/data

say "import two tables into a folder"
python3 - "$work" <<'PY'
import json, sys
from pathlib import Path

work = Path(sys.argv[1])
with open(work / "orders.ndjson", "w", encoding="utf-8") as out:
    for number in range(6_000):
        order = {"PartitionKey": f"customer-{number % 7}", "RowKey": f"{number:06}", "Total": number * 0.25, "Note": "é" * (number % 5)}
        print(json.dumps(order), file=out)
with open(work / "customers.ndjson", "w", encoding="utf-8") as out:
    for number in range(7):
        print(json.dumps({"PartitionKey": "customer", "RowKey": f"customer-{number}", "City": "Bern" if number % 2 else "Oslo"}), file=out)
PY
"${rowkey[@]}" import --data "$data" --table Orders "$work/orders.ndjson" >/dev/null
"${rowkey[@]}" import --data "$data" --table Customers "$work/customers.ndjson" >/dev/null

say "Azurite $azurite_version and the SDK azure-storage-blob $sdk_version in $cache"
install_azurite
install_sdk azure-storage-blob "$sdk_version"

say "start Azurite's blob service and upload the folder"
start_azurite blob
service=http://127.0.0.1:$port/devstoreaccount1
signature=$("$sdk/bin/python" "$here/upload.py" --endpoint "$service" --container exports --folder "$data" --prefix 2024/store/)
export AZURITE_BLOB_STORAGE_URL=http://127.0.0.1:$port

questions=(
  'SELECT count(*) FROM Orders'
  "SELECT * FROM Orders WHERE \"PartitionKey\" = 'customer-3' AND \"RowKey\" = '000003'"
  "SELECT \"RowKey\", \"Total\" FROM Orders WHERE \"PartitionKey\" = 'customer-5' ORDER BY \"RowKey\" DESC LIMIT 5"
  'SELECT c."City", count(*), sum(o."Total") FROM Orders o JOIN Customers c ON o."PartitionKey" = c."RowKey" GROUP BY 1 ORDER BY 1'
  "EXPLAIN SELECT \"Note\" FROM Orders WHERE \"PartitionKey\" = 'customer-3' AND \"RowKey\" LIKE '0003%'"
  'SHOW TABLES'
)
ask() { # LOCATION
  local question
  for question in "${questions[@]}"; do
    printf '%s\n' "$question"
    "${rowkey[@]}" sql --data "$1" --output csv "$question" || return
  done
}
ask "$data" >"$work/expected"
[ "$(wc -l <"$work/expected")" -gt 20 ] || fail "the folder itself answers too little: $(cat "$work/expected")"

# NAME LOCATION [VARIABLE=VALUE]...
same() {
  say "$1"
  local location=$2 setting
  (
    for setting in "${@:3}"; do export "${setting?}"; done
    ask "$location"
  ) >"$work/answers" || fail "$1: it ended with an error"
  diff "$work/expected" "$work/answers" >&2 || fail "$1: the answers differ from the folder's"
  (
    for setting in "${@:3}"; do export "${setting?}"; done
    "${rowkey[@]}" check --data "$location"
  ) | tee "$work/checked" >&2
  ! grep -q 'sig=' "$work/checked" || fail "$1: check prints the signature"
  grep -q '2 tables, 2 files, 6,007 entities: nothing is wrong' "$work/checked" || fail "$1: check did not see everything"
}
same "by the container's name" az://exports/2024/store AZURE_STORAGE_USE_EMULATOR=true
same "by the emulator's URL" "$service/exports/2024/store"
same "by a shared access signature in the URL" "$service/exports/2024/store?$signature"
same "by a shared access signature in the environment" "$service/exports/2024/store/" AZURE_STORAGE_SAS_TOKEN="$signature"

# WHAT IT SAYS, then a command that has to fail and to say that, on few lines, without the signature.
refused() {
  local says=$1 status=0
  shift
  "$@" >"$work/out" 2>&1 || status=$?
  [ "$status" = 1 ] || fail "status $status instead of 1: $*: $(cat "$work/out")"
  grep -qF -- "$says" "$work/out" || fail "no word of '$says': $(cat "$work/out")"
  [ "$(wc -l <"$work/out")" -le 2 ] || fail "too many lines: $(cat "$work/out")"
  ! grep -q 'sig=' "$work/out" || fail "a message quotes the signature: $(cat "$work/out")"
  head -n 1 "$work/out" >&2
}
say "what cannot be done is refused by name"
container=$service/exports/2024/store
refused "$container is open for reading only" "${rowkey[@]}" import --data "$container" --table Orders "$work/orders.ndjson"
refused "ContainerNotFound" "${rowkey[@]}" sql --data "$service/nothing/2024/store" 'SELECT 1'
refused "there is no data folder at $service/exports/2023" "${rowkey[@]}" sql --data "$service/exports/2023" 'SELECT 1'
refused "names a container" "${rowkey[@]}" sql --data "$service" 'SELECT 1'
refused "403" env AZURE_STORAGE_ACCOUNT_KEY=bm90IHRoZSBrZXk= "${rowkey[@]}" sql --data "$container" 'SELECT 1'
refused "403" "${rowkey[@]}" check --data "$container?${signature}AAAA"
refused "Account must be specified" "${rowkey[@]}" sql --data az://exports/2024/store 'SELECT 1'
# The SDK made the container; a blob that is gone is damage.
"$sdk/bin/python" "$here/upload.py" --endpoint "$service" --container exports --remove 2024/store/tables/ >&2
refused "tables/" "${rowkey[@]}" sql --data "$container" 'SELECT sum("Total") FROM Orders'

say "the container answers as the folder does"
