#!/usr/bin/env bash
# Real clients against `rowkey serve --sample`: psql, psycopg 3, SQLAlchemy and pandas, pgJDBC, node-postgres, and
# those that move rows in bulk: asyncpg, ADBC, connectorx, polars; and Azure's SDKs for Tables, those before them too.
# (tokio-postgres is one of the tests that `cargo test` runs.)
#
#   tests/clients/run.sh [CLIENT]...        all of them, or some of: psql psycopg sqlalchemy jdbc node bulk
#                                           tables-python tables-node tables-python-before tables-node-before
#
# Needs python3 with venv, node with npm, java and psql; as root on Debian, what is missing is installed. Settings, all optional:
#   ROWKEY              the binary to test              default: cargo run --release
#   ROWKEY_TEST_CACHE   where the drivers go            default: ~/.cache/rowkey-tests
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$here/../.."
cache=${ROWKEY_TEST_CACHE:-$HOME/.cache/rowkey-tests}
python_packages=(psycopg[binary]==3.3.9 psycopg2-binary==2.9.13 sqlalchemy==2.1.9 pandas==3.1.1)
bulk_packages=(asyncpg==0.32.0 adbc-driver-postgresql==1.13.0 connectorx==0.4.6 polars==2.1.0 pyarrow==26.0.1)
tables_packages=(azure-data-tables==12.7.0 aiohttp==3.14.5)
tables_before_packages=(azure-cosmosdb-table==1.0.6)
node_packages=(pg@8.23.1 pg-cursor@2.22.0 @azure/data-tables@13.3.2 azure-storage@2.10.7)
jdbc=${ROWKEY_TEST_JDBC:-/usr/share/java/postgresql.jar}
client_seconds_max=170

say() { printf '\n== %s\n' "$*"; }
fail() { printf '\ntests/clients/run.sh: %s\n' "$*" >&2; exit 1; }

clients=("$@")
[ $# -gt 0 ] || clients=(psql psycopg sqlalchemy jdbc node bulk tables-python tables-node
  tables-python-before tables-node-before)

say "clients, in $cache"
packages=()
command -v psql >/dev/null || packages+=(postgresql-client)
command -v java >/dev/null && java --list-modules 2>/dev/null | grep -q '^jdk.compiler' || packages+=(default-jdk-headless)
[ -f "$jdbc" ] || packages+=(libpostgresql-jdbc-java)
command -v npm >/dev/null || packages+=(nodejs npm)
python3 -c 'import ensurepip, venv' 2>/dev/null || packages+=(python3-venv)
if [ ${#packages[@]} -gt 0 ]; then
  if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    fail "missing, and only root on Debian gets them installed here: ${packages[*]}"
  fi
  export DEBIAN_FRONTEND=noninteractive
  { apt-get update -qq && apt-get install -y -qq "${packages[@]}" >/dev/null; } ||
    fail "apt-get could not install ${packages[*]} (network?)"
fi
install_python() {
  local folder=$1
  shift
  [ "$(cat "$folder/.complete" 2>/dev/null)" != "$*" ] || return 0
  mkdir -p "$cache"
  python3 -m venv --clear "$folder" || fail "python3 could not make a virtual environment in $folder"
  "$folder/bin/pip" install --quiet --disable-pip-version-check "$@" || fail "pip could not install $* (network?)"
  echo "$*" >"$folder/.complete"
}
python=$cache/clients-python
install_python "$python" "${python_packages[@]}"
bulk=$cache/clients-bulk
case " ${clients[*]} " in *" bulk "*) install_python "$bulk" "${bulk_packages[@]}" ;; esac
tables=$cache/clients-tables
case " ${clients[*]} " in *" tables-python "*) install_python "$tables" "${tables_packages[@]}" ;; esac
tables_before=$cache/clients-tables-before
case " ${clients[*]} " in *" tables-python-before "*) install_python "$tables_before" "${tables_before_packages[@]}" ;; esac
node=$cache/clients-node
if [ "$(cat "$node/.complete" 2>/dev/null)" != "${node_packages[*]}" ]; then
  mkdir -p "$node"
  npm install --silent --no-audit --no-fund --prefix "$node" "${node_packages[@]}" ||
    fail "npm could not install ${node_packages[*]} (network?)"
  echo "${node_packages[*]}" >"$node/.complete"
fi

rowkey=(cargo run --quiet --release --locked --)
[ -z "${ROWKEY:-}" ] || rowkey=("$ROWKEY")

work=$(mktemp -d)
server=
stop_server() {
  [ -z "$server" ] || { kill "$server" 2>/dev/null && wait "$server" 2>/dev/null; } || true
  server=
}
trap 'stop_server; rm -rf "$work"' EXIT

say "start the server"
"${rowkey[@]}" import --data "$work/data" --table Types tests/interop/EightTypes.ndjson >/dev/null
"${rowkey[@]}" serve --sample --data "$work/data" --pg 127.0.0.1:0 --rest 127.0.0.1:0 >"$work/server.out" 2>"$work/server.err" &
server=$!
for _ in $(seq 300); do
  grep -q 'Ctrl-C' "$work/server.out" && break
  kill -0 "$server" 2>/dev/null || fail "the server ended: $(cat "$work/server.err")"
  sleep 0.2
done
port=$(sed -n '1s/^Rowkey listens on 127\.0\.0\.1:\([0-9]*\).*/\1/p' "$work/server.out")
[ -n "$port" ] || fail "the server does not say where it listens: $(cat "$work/server.out")"
ROWKEY_REST=$(sed -n 's/^ *\(http:[^ ]*\) .*/\1/p' "$work/server.out")
[ -n "$ROWKEY_REST" ] || fail "the server does not say where the Table service is: $(cat "$work/server.out")"
export ROWKEY_REST
export PGHOST=127.0.0.1 PGPORT=$port PGUSER=rowkey PGDATABASE=devstoreaccount1
unset PGPASSWORD PGOPTIONS PGAPPNAME PGSERVICE PGTZ PGDATESTYLE PGCLIENTENCODING

failed=()
for client in "${clients[@]}"; do
  say "$client"
  case $client in
    psql) command=("$here/psql.sh") ;;
    psycopg) command=("$python/bin/python" "$here/psycopg3.py") ;;
    sqlalchemy) command=("$python/bin/python" "$here/sqlalchemy_pandas.py") ;;
    jdbc) command=(java -Duser.timezone=UTC -cp "$jdbc" "$here/Jdbc.java" "$port") ;;
    node) command=(env NODE_PATH="$node/node_modules" node "$here/node_postgres.js") ;;
    bulk) command=("$bulk/bin/python" "$here/bulk.py") ;;
    tables-python) command=("$tables/bin/python" "$here/azure_data_tables.py") ;;
    tables-node) command=(env NODE_PATH="$node/node_modules" node "$here/azure_data_tables.js") ;;
    tables-python-before) command=("$tables_before/bin/python" "$here/azure_cosmosdb_table.py") ;;
    tables-node-before) command=(env NODE_PATH="$node/node_modules" node --no-deprecation "$here/azure_storage.js") ;;
    *) fail "unknown client '$client'; there are: psql psycopg sqlalchemy jdbc node bulk tables-{python,node}{,-before}" ;;
  esac
  PYTHONDONTWRITEBYTECODE=1 timeout "$client_seconds_max" "${command[@]}" || failed+=("$client")
  kill -0 "$server" 2>/dev/null || fail "the server ended: $(cat "$work/server.err")"
done
stop_server
[ ${#failed[@]} = 0 ] || fail "failed: ${failed[*]}"
say "all clients agree"
