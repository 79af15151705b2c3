#!/usr/bin/env bash
# Runs the checks against programs that were not written here, in a Python environment of
# their own (build/venv), made anew when requirements.txt changes. Arguments go to pytest.
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
exec "$venv/bin/python" -m pytest -q -p no:cacheprovider "$@" "$here"
