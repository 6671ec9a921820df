#!/usr/bin/env bash
# Everything marked slow (full sweeps, soaks, long property runs), and the property tests with more examples.
# Takes up to an hour. `tests/slow.sh tests/context` runs a part; further arguments go to pytest.
set -euo pipefail
cd "$(dirname "$0")/.."
unset PYTHONDONTWRITEBYTECODE  # the tests start hundreds of programs: what is compiled once serves all of them
exec .venv/bin/pytest -m 'slow or hypothesis' --hypothesis-profile=slow --timeout=3600 -p no:cacheprovider "$@"
