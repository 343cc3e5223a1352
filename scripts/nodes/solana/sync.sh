#!/usr/bin/env bash
# Prepares agave for its first start: makes its identity, and names what would end the start. Run it as quayside-node.
#
#   sync.sh [FOLDER]           default: /srv/quayside-nodes/solana
#
# The snapshot is fetched by agave itself, from the known validators of its unit. That cannot be resumed; watch it with
#   agave-validator --ledger /srv/quayside-nodes/solana/ledger monitor
# Source: agave docs guides/validator-start.md and CHANGELOG.md, 2026-11-10.
set -euo pipefail

folder=${1:-/srv/quayside-nodes/solana}
problems=0
problem() { echo "- $1" >&2; problems=$((problems + 1)); }
# Compares a number with the least that will do.
least() { [ "$2" -ge "$3" ] || problem "$1 is $2, and at least $3 is needed"; }

for setting in net.core.rmem_max=134217728 net.core.wmem_max=134217728 vm.max_map_count=1000000 fs.nr_open=1000000; do
  value=$(cat "${PROC:-/proc}/sys/$(echo "${setting%%=*}" | tr . /)" 2>/dev/null || echo 0)
  least "${setting%%=*}" "$value" "${setting##*=}"
done
least 'memory in GiB' $(($(awk '/^MemTotal:/ { print $2 }' "${PROC:-/proc}/meminfo") >> 20)) 240
grep -q -w avx2 "${PROC:-/proc}/cpuinfo" || problem 'the processor has no AVX2'
for disk in accounts:500 ledger:1000 snapshots:250; do
  place=$folder/${disk%%:*}
  mkdir -p "$place"
  least "free GiB in $place" $(($(df --output=avail -B1 "$place" | tail -1) >> 30)) "${disk##*:}"
done
[ -e "$folder/identity.json" ] || solana-keygen new --no-bip39-passphrase --silent --outfile "$folder/identity.json"
[ "$problems" = 0 ] || { echo "sync.sh: $problems of these must change before agave is started" >&2; exit 1; }
echo 'ready: start quayside-solana-agave' >&2
