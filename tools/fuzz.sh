#!/bin/sh
# Run the property tests again and again, each time with new random cases, until the minutes are over or a case fails.
# A failure prints its smallest case. Called by make fuzz.
set -eu
cd "$(dirname "$0")/.."
python=$1 minutes=$2 examples=$3
end=$(($(date +%s) + minutes * 60))
round=0
while [ "$(date +%s)" -lt "$end" ]; do
    round=$((round + 1))
    seed=$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')
    printf 'livejoin: round %d, seed %s, %d minutes left\n' "$round" "$seed" $(((end - $(date +%s)) / 60))
    # Nested queries (LIVEJOIN_SEED) and what Hypothesis draws (FUZZ).
    # shellcheck disable=SC2046
    LIVEJOIN_FUZZ=$examples LIVEJOIN_SEED=$seed "$python" -m pytest --quiet --exitfirst --timeout 0 \
        --hypothesis-seed "$seed" -m "not spark" $(grep -rlwE --include='test_*.py' 'LIVEJOIN_SEED|FUZZ' tests)
done
printf 'livejoin: %d rounds of %s examples a property, no failure\n' "$round" "$examples"
