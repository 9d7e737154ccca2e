#!/usr/bin/env bash
# Changes the model in thousands of small ways and counts which changes the tests of the model notice.
# Usage: tools/mutants.sh [PATTERN...], e.g. tools/mutants.sh 'tenure.model.backoff*'; the whole model takes an hour or so.
# Needs mutmut: pip install -e '.[mutants]'. A survivor is shown by: mutmut show NAME.
set -euo pipefail
cd "$(dirname "$0")/.."
if [ -x .venv/bin/mutmut ]; then mutmut=.venv/bin/mutmut; else mutmut=mutmut; fi
if ! command -v "$mutmut" >/dev/null; then
    echo "mutmut is not installed: .venv/bin/python -m pip install -e '.[mutants]'" >&2
    exit 1
fi

"$mutmut" run --max-children "${MUTANTS_JOBS:-2}" "$@" >mutants.log 2>&1 || { tail -n 20 mutants.log >&2; exit 1; }
"$mutmut" results --all true | awk '
    /not checked/ { next }
    /: / {
        name = $1; sub(/\.x[_ǁ].*/, "", name); sub(/:$/, "", name)
        all[name]++; total++
        if ($2 == "survived" || $2 == "no") { left[name]++; lost++ }
    }
    END {
        for (name in all) printf "%-42s %5d mutants  %5.1f %% killed\n", name, all[name], 100 * (1 - left[name] / all[name])
        if (total) printf "%-42s %5d mutants  %5.1f %% killed\n", "zz all together", total, 100 * (1 - lost / total)
    }' | sort | sed 's/^zz //'
