#!/bin/sh
# Run the property tests again and again, each time with new random cases, until the minutes are over or a case fails.
# A failure prints its smallest case. In every second round kernels check the bounds of what they read and write. Called
# by make fuzz.
set -eu
cd "$(dirname "$0")/.."
python=$1 minutes=$2 examples=$3
end=$(($(date +%s) + minutes * 60))
round=0
while [ "$(date +%s)" -lt "$end" ]; do
    round=$((round + 1))
    seed=$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')
    checked=$(((round + 1) % 2))
    printf 'livejoin: round %d, seed %s, NUMBA_BOUNDSCHECK=%d, %d minutes left\n' \
        "$round" "$seed" "$checked" $(((end - $(date +%s)) / 60))
    # Nested queries (LIVEJOIN_SEED) and what Hypothesis draws.
    # shellcheck disable=SC2046
    LIVEJOIN_FUZZ=$examples LIVEJOIN_SEED=$seed NUMBA_BOUNDSCHECK=$checked "$python" -m pytest \
        --quiet --exitfirst --timeout 0 --hypothesis-seed "$seed" -m "not spark" \
        $(grep -rlE --include='test_*.py' 'LIVEJOIN_SEED|@given|import (.*, )?(IS_FUZZ|seeds)' tests)
done
printf 'livejoin: %d rounds of %s examples a property, no failure\n' "$round" "$examples"
