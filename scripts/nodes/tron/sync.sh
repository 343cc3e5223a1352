#!/usr/bin/env bash
# Fetches the newest lite database of TRON: the state and the last 65,536 blocks, for LevelDB.
#
#   sync.sh [FOLDER]           default: /srv/quayside-nodes/tron/java-tron
#   MIRROR=http://… sync.sh    another server with the same files
#
# Keep ../fetch.sh beside this folder. The publisher offers the files by plain http, with an MD5 and no signature: that shows
# damage, not who made them. Compare a block some hours old with another node after the first start.
# Source: tronprotocol/documentation-en litefullnode.md and backup_restore.md, 2026-07-21.
set -euo pipefail

folder=${1:-/srv/quayside-nodes/tron/java-tron}
mirror=${MIRROR:-http://34.143.247.77}
fetch=$(dirname "$0")/../fetch.sh

for days in $(seq 0 14); do
  url=$mirror/backup$(date --utc --date "$days days ago" +%Y%m%d)/LiteFullNode_output-directory.tgz
  if sum=$(curl --fail --silent --location --max-time 30 "$url.md5sum"); then
    exec "$fetch" "$folder" md5 --strip 1 "$url" "${sum%% *}"
  fi
done
echo "sync.sh: $mirror has no database of the last two weeks; set MIRROR to another server of TRON's documentation" >&2
exit 1
