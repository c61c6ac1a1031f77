# For the scripts beside this one, which set `script` and `cache` first: installs Azurite and SDKs into the cache, and starts
# and stops a service of Azurite.

azurite_version=3.35.0 # the last release that runs on the node of Debian stable (18 and 20)

say() { printf '\n== %s\n' "$*" >&2; }
fail() { printf '%s: %s\n' "$script" "$*" >&2; exit 1; }

command -v npm >/dev/null || fail "npm is missing: install node with npm (Debian: apt-get install nodejs npm)"
command -v python3 >/dev/null || fail "python3 is missing (Debian: apt-get install python3 python3-venv)"

work=$(mktemp -d)
azurite_pid=
stop_azurite() {
  if [ -n "$azurite_pid" ]; then
    kill "$azurite_pid" 2>/dev/null || true
    wait "$azurite_pid" 2>/dev/null || true
    azurite_pid=
  fi
}
trap 'stop_azurite; rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# A folder is complete once its stamp is there; an interrupted install is done again.
install_azurite() {
  azurite=$cache/azurite-$azurite_version
  if [ ! -f "$azurite/.complete" ]; then
    mkdir -p "$azurite"
    npm install --prefix "$azurite" --no-fund --no-audit --loglevel=error "azurite@$azurite_version" >&2 </dev/null ||
      fail "npm could not install azurite@$azurite_version (is the package registry reachable?)"
    touch "$azurite/.complete"
  fi
}

# PACKAGE VERSION; sets `sdk` to a virtual environment that has it.
install_sdk() {
  sdk=$cache/$1-$2
  if [ ! -f "$sdk/.complete" ]; then
    python3 -m venv --clear "$sdk" || fail "python3 could not make a virtual environment (Debian: apt-get install python3-venv)"
    "$sdk/bin/pip" install --quiet --disable-pip-version-check "$1==$2" >&2 ||
      fail "pip could not install $1==$2 (is the package index reachable?)"
    touch "$sdk/.complete"
  fi
}

# SERVICE (table or blob) [FOLDER to keep its data in]; sets `port`, at which it answers.
start_azurite() {
  local attempt kept=(--inMemoryPersistence)
  [ -z "${2:-}" ] || kept=(--location "$2")
  # The port is free when asked for; should another process take it before Azurite does, another one is tried.
  for attempt in 1 2 3; do
    port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    (cd "$work" && exec node "$azurite/node_modules/azurite/dist/src/$1/main.js" "${kept[@]}" --disableTelemetry \
      --silent --skipApiVersionCheck "--$1Host" 127.0.0.1 "--$1Port" "$port") >"$work/azurite.log" 2>&1 </dev/null &
    azurite_pid=$!
    for _ in $(seq 300); do
      grep -q 'successfully' "$work/azurite.log" && return
      kill -0 "$azurite_pid" 2>/dev/null || break
      sleep 0.2
    done
    stop_azurite
    echo "attempt $attempt failed:" >&2
    cat "$work/azurite.log" >&2
  done
  fail "Azurite did not start; its output is above"
}
