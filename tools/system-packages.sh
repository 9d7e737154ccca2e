#!/usr/bin/env bash
# Installs Debian packages that are missing when we are root; else says what will be skipped without them. Never fails.
# Usage: tools/system-packages.sh PACKAGE...
set -euo pipefail

missing=()
for package in "$@"; do
    if command -v "$package" >/dev/null || [ -x "/usr/sbin/$package" ]; then continue; fi
    if dpkg-query --show --showformat='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed'; then continue; fi
    missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then exit 0; fi

if [ "$(id -u)" -ne 0 ]; then
    echo "Not installed: ${missing[*]}. What needs it is skipped; as root: apt-get install ${missing[*]}"
    exit 0
fi
if ! command -v apt-get >/dev/null; then
    echo "Not installed: ${missing[*]} (this is no Debian system). What needs it is skipped."
    exit 0
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
# Without policy-rc.d the package would start a service of its own, which nobody asked for.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod 755 "$policy"
    trap 'rm -f "$log" "$policy"' EXIT
fi
export DEBIAN_FRONTEND=noninteractive
echo "Installing Debian packages: ${missing[*]} ..."
if ! { apt-get install --yes --no-install-recommends "${missing[@]}" ||
    { apt-get update && apt-get install --yes --no-install-recommends "${missing[@]}"; }; } >"$log" 2>&1 </dev/null; then
    echo "Could not install ${missing[*]}; what needs it is skipped. The end of apt's answer:"
    tail -n 5 "$log"
fi
