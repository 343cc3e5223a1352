#!/usr/bin/env bash
# Fetches a pruned database of BSC: about 1.7 TB to download, and 4 TB of room while it is unpacked.
#
#   sync.sh [LIST] [FOLDER]    default folder: /srv/quayside-nodes/bsc/geth
#
# LIST is the name of a list in https://github.com/bnb-chain/bsc-snapshots, folder dist, without .csv: look for the newest
# "mainnet-geth-pbss-…-pruneancient" there. Its rows are: file name, URL, MD5, size. Keep ../fetch.sh beside this folder.
# Source: bnb-chain/bsc-snapshots dist/mainnet-geth-pbss-20260626-pruneancient.csv, 2026-06-26.
set -euo pipefail

list=${1:-mainnet-geth-pbss-20260626-pruneancient}
folder=${2:-/srv/quayside-nodes/bsc/geth}
lists=${LISTS:-https://raw.githubusercontent.com/bnb-chain/bsc-snapshots/main/dist}
fetch=$(dirname "$0")/../fetch.sh

if ! rows=$(curl --fail --silent --show-error --location --max-time 60 "$lists/$list.csv"); then
  echo "sync.sh: there is no list $list: look up the newest one and name it" >&2
  exit 1
fi
arguments=()
while IFS=, read -r name url sum _; do
  [ "$name" = filename ] || arguments+=("$url" "$sum")
done < <(printf '%s\n' "$rows" | tr -d '\r')
# The archives hold server/data-seed/geth/…, and --datadir wants geth/….
exec "$fetch" "$folder" md5 --strip 2 "${arguments[@]}"
