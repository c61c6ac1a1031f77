#!/usr/bin/env bash
# Makes the exports in data/ anew: the real tools write one small table of the Azurite emulator, and by_layout.py writes what tools
# that do not run here would.
#
#   tests/formats/make.sh
#
# Needs node with npm, and python3 with venv.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${ROWKEY_TEST_CACHE:-$HOME/.cache/rowkey-tests}
script=tests/formats/make.sh
source "$here/../azurite/emulator.sh"

tools=${ROWKEY_FORMATS_TOOLS:-$cache/formats-tools}
if [ ! -f "$tools/done" ]; then
  mkdir -p "$tools"
  npm install --prefix "$tools" --no-fund --no-audit --loglevel=error @azure/data-tables@13.3.2 azure-storage@2.10.7 >&2
  python3 -m venv "$tools/venv" && "$tools/venv/bin/pip" install -q azure-data-tables==12.7.0 pandas==3.* pyarrow
  python3 -m venv "$tools/cli" && "$tools/cli/bin/pip" install -q azure-cli
  touch "$tools/done"
fi
install_azurite
start_azurite table

data=$here/data
rm -rf "$data" && mkdir "$data"
export CONNECTION="DefaultEndpointsProtocol=http;AccountName=devstoreaccount1;AccountKey=Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==;TableEndpoint=http://127.0.0.1:$port/devstoreaccount1;"
"$tools/venv/bin/python" "$here/python_sdk.py" "$data"
NODE_PATH=$tools/node_modules node "$here/javascript_sdks.cjs" "$data"
AZURE_CONFIG_DIR=$work/az "$tools/cli/bin/az" storage entity query --table-name Canon --connection-string "$CONNECTION" -o json >"$data/az.json"
AZURE_CONFIG_DIR=$work/az "$tools/cli/bin/az" storage entity query --table-name Canon --connection-string "$CONNECTION" --num-results 2 -o json >"$data/az-truncated.json"
python3 "$here/by_layout.py" "$data"
