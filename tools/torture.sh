#!/bin/sh
# Cut calls off at every point, damage files, fail file operations, feed odd data, again and again with new random cases,
# until the minutes are over or a case fails, which prints how to repeat it. Called by make torture.
set -eu
cd "$(dirname "$0")/.."
python=$1 minutes=$2 cases=$3
end=$(($(date +%s) + minutes * 60))
round=0
while [ "$(date +%s)" -lt "$end" ]; do
    round=$((round + 1))
    seed=$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')
    printf 'livejoin: round %d, LIVEJOIN_TORTURE=%s LIVEJOIN_SEED=%s, %d minutes left\n' \
        "$round" "$cases" "$seed" $(((end - $(date +%s)) / 60))
    LIVEJOIN_TORTURE=$cases LIVEJOIN_SEED=$seed "$python" -m pytest --quiet --exitfirst --timeout 0 tests/torture
done
printf 'livejoin: %d rounds of %s cases each, no failure\n' "$round" "$cases"
