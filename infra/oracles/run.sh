#!/usr/bin/env bash
# Runs the checks against programs that were not written here, in a Python environment of
# their own (build/venv), made anew when requirements.txt changes. Arguments go to pytest;
# speed compares the speed of a critic instead.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
venv=$here/../../build/venv
want=$(sha256sum < "$here/requirements.txt")
if [ "$(cat "$venv/ready" 2> /dev/null || true)" != "$want" ]; then
  rm -rf "$venv"
  python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check --requirement "$here/requirements.txt"
  echo "$want" > "$venv/ready"
fi
if [ "${1-}" = speed ]; then
  exec "$venv/bin/python" "$here/speed.py"
fi
exec "$venv/bin/python" -m pytest -q -p no:cacheprovider "$@" "$here"
