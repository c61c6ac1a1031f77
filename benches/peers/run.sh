#!/usr/bin/env bash
# Rowkey and its peers on the same generated entities, in one run; results as Markdown on stdout.
#
#   benches/peers/run.sh [load|queries|open]...     all three without arguments
#
# Needs python3 with venv; for the comparison with PostgreSQL its server and psql (Debian: apt-get install postgresql).
# Settings, all optional:
#   ROWKEY           the binary                                       default: the release build of this repository
#   ROWKEY_QUERIES   the driver of queries, benches/queries.rs        default: the same
#   ENTITIES         entities in load and queries                     default: 1000000
#   OPEN_ENTITIES    entities in open                                 default: 10000000
#   SHAPES           key shapes, see generate.py                      default: a b
#   ROUNDS           rounds of load and of timed queries              default: 3
#   PEERS_CACHE      software, generated data and stores              default: ~/.cache/rowkey-peers
#   PEERS_POSTGRES   connection string of a server to use             default: one started and stopped here, with its data in
#                                                                     TMPDIR, which should be on the disk that PEERS_CACHE is on
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${PEERS_CACHE:-$HOME/.cache/rowkey-peers}
entities=${ENTITIES:-1000000}
open_entities=${OPEN_ENTITIES:-10000000}
read -ra shapes <<<"${SHAPES:-a b}"
postgres=${PEERS_POSTGRES:-}
parts=("$@")
[ $# -gt 0 ] || parts=(load queries open)

say() { printf '\n== %s\n' "$*" >&2; }
fail() { printf 'benches/peers/run.sh: %s\n' "$*" >&2; exit 1; }
for part in "${parts[@]}"; do
  case $part in load | queries | open) ;; *) fail "unknown part '$part'; there are load, queries and open" ;; esac
done

if [ -z "${ROWKEY:-}" ]; then
  say "build"
  manifest=$here/../../Cargo.toml
  cargo build --release --locked --manifest-path "$manifest" >&2
  target=$(cargo metadata --format-version 1 --no-deps --locked --manifest-path "$manifest" |
    python3 -c 'import json, sys; print(json.load(sys.stdin)["target_directory"])')
  ROWKEY=$target/release/rowkey
fi
if [ -z "${ROWKEY_QUERIES:-}" ] && [[ " ${parts[*]} " == *" queries "* ]]; then
  say "build the driver of queries"
  ROWKEY_QUERIES=$(cargo bench --bench queries --no-run --locked --message-format=json --manifest-path "$here/../../Cargo.toml" |
    python3 -c 'import json, sys; print([m["executable"] for m in map(json.loads, sys.stdin) if m.get("executable")][-1])')
fi
export ROWKEY ROWKEY_QUERIES="${ROWKEY_QUERIES:-}" PYTHONDONTWRITEBYTECODE=1

versions=(duckdb==2.0.0 numpy==2.4.6 pyarrow==26.0.1 pytz)
venv=$cache/venv
stamp=$venv/.complete
if [ "$(cat "$stamp" 2>/dev/null)" != "${versions[*]}" ]; then
  say "install ${versions[*]} in $venv"
  mkdir -p "$cache"
  python3 -m venv --clear "$venv" || fail "python3 could not make a virtual environment (Debian: apt-get install python3-venv)"
  "$venv/bin/pip" install --quiet --disable-pip-version-check "${versions[@]}" >&2 || fail "pip could not install ${versions[*]}"
  echo "${versions[*]}" >"$stamp"
fi
python=$venv/bin/python

generate() { # shape, entities, formats; prints the folder
  local folder=$cache/generated/$1-$2-${3//,/-}
  say "entities: shape $1, $2, $3"
  "$python" "$here/generate.py" --shape "$1" --entities "$2" --formats "$3" --out "$folder"
  echo "$folder"
}

# A server of our own: data in a temporary folder, reached through a socket in it, nothing listens on the network.
server=
as_owner() { # PostgreSQL refuses to run as root
  if [ "$(id -u)" = 0 ]; then runuser -u postgres -- "$@"; else "$@"; fi
}
start_postgres() {
  local programs
  programs=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1)
  [ -n "$programs" ] || programs=$(dirname "$(command -v initdb || true)")
  if [ ! -x "$programs/initdb" ] || ! command -v psql >/dev/null; then
    say "PostgreSQL is not installed: its rows are left out (Debian: apt-get install postgresql)"
    return
  fi
  say "start PostgreSQL"
  pg_ctl=$programs/pg_ctl
  server=$(mktemp -d "${TMPDIR:-/tmp}/rowkey-peers.XXXXXX")
  if [ "$(id -u)" = 0 ]; then chown postgres "$server"; fi
  as_owner "$programs/initdb" -D "$server/data" -A trust -E UTF8 --locale=C.UTF-8 -U postgres >/dev/null
  as_owner tee -a "$server/data/postgresql.conf" >/dev/null <<CONF
listen_addresses = ''
unix_socket_directories = '$server'
shared_buffers = 2GB
maintenance_work_mem = 512MB
max_wal_size = 4GB
timezone = 'UTC'
CONF
  as_owner "$pg_ctl" -D "$server/data" -l "$server/log" -w -s start || { cat "$server/log" >&2; fail "PostgreSQL did not start"; }
  postgres="host=$server user=postgres dbname=postgres"
}
stop() {
  if [ -n "$server" ]; then
    as_owner "$pg_ctl" -D "$server/data" -m fast -s stop || true
    rm -rf "$server"
  fi
}
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

for part in "${parts[@]}"; do
  case $part in
  load)
    [ -n "$postgres" ] || start_postgres
    for shape in "${shapes[@]}"; do
      generated=$(generate "$shape" "$entities" parquet,ndjson,csv)
      "$python" "$here/load.py" --generated "$generated" --work "$cache/stores" --rounds "${ROUNDS:-3}" ${postgres:+--postgres "$postgres"}
    done
    ;;
  queries)
    printf '\n### Answers\n\n'
    for shape in "${shapes[@]}"; do
      generated=$(generate "$shape" "$entities" parquet,ndjson,csv)
      for source in ndjson parquet; do
        "$python" "$here/queries.py" --generated "$generated" --work "$cache/stores" --source "$source"
      done
    done
    [ -n "$postgres" ] || start_postgres
    for shape in "${shapes[@]}"; do
      generated=$(generate "$shape" "$entities" parquet,ndjson,csv)
      "$python" "$here/times.py" --generated "$generated" --work "$cache/stores" --rounds "${ROUNDS:-3}" ${postgres:+--postgres "$postgres"}
    done
    ;;
  open)
    for shape in "${shapes[@]}"; do
      generated=$(generate "$shape" "$open_entities" parquet)
      "$python" "$here/open.py" --generated "$generated" --data "$cache/stores/open-$shape-$open_entities"
    done
    ;;
  esac
done
