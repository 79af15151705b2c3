#!/usr/bin/env bash
# Runs the checks against programs that were not written here, in a Python environment of
# their own (build/venv), made again when requirements.txt changes. Arguments go to pytest;
# speed compares the speed of a critic instead. others compares what a page costs Scrapy and
# Forager, in an environment of its own (others.txt), which the checks need not install.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
venv=$here/../../build/venv
requirements=$here/requirements.txt
if [ "${1-}" = others ]; then
  venv=$venv-others
  requirements=$here/others.txt
fi
want=$(sha256sum < "$requirements")
if [ "$(cat "$venv/ready" 2> /dev/null || true)" != "$want" ]; then
  rm -rf "$venv"
  python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check --requirement "$requirements"
  echo "$want" > "$venv/ready"
fi
case ${1-} in
  speed | others) exec "$venv/bin/python" "$here/$1.py" ;;
esac
exec "$venv/bin/python" -m pytest -q -p no:cacheprovider "$@" "$here"
