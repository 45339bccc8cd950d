#!/bin/sh
# Run the tests that are marked torture, once. Then cut calls off at every point, kill processes, fail allocations and
# file operations, damage files, feed odd data, again and again with new random cases, until the minutes are over or a
# case fails, which prints how to repeat it. In every second round kernels check the bounds of what they read and write.
# Called by make torture.
set -eu
cd "$(dirname "$0")/.."
python=$1 minutes=$2 cases=$3
end=$(($(date +%s) + minutes * 60))
LIVEJOIN_TORTURE=$cases "$python" -m pytest --quiet -rP --exitfirst --timeout 0 -m torture tests
round=0
while [ "$(date +%s)" -lt "$end" ]; do
    round=$((round + 1))
    seed=$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')
    checked=$(((round + 1) % 2))
    printf 'livejoin: round %d, LIVEJOIN_TORTURE=%s LIVEJOIN_SEED=%s NUMBA_BOUNDSCHECK=%d, %d minutes left\n' \
        "$round" "$cases" "$seed" "$checked" $(((end - $(date +%s)) / 60))
    LIVEJOIN_TORTURE=$cases LIVEJOIN_SEED=$seed NUMBA_BOUNDSCHECK=$checked "$python" -m pytest \
        --quiet -rP --exitfirst --timeout 0 tests/torture tests/database/test_concurrent_calls.py
done
printf 'livejoin: %d rounds of %s cases each, no failure\n' "$round" "$cases"
