#!/usr/bin/env bash
# Prepares an Ethereum client for its first start. Run it as the client's user (quayside-node).
#
#   sync.sh jwt                                        the secret that both clients share
#   sync.sh reth                                       downloads a database with 30 days of history
#   CHECKPOINT_URL=https://… sync.sh nimbus            fetches the state of a final block from a beacon node
#
# reth resumes its download and verifies each part (BLAKE3). geth needs nothing: it fetches the state from its peers within
# hours. lighthouse fetches a final state itself, from CHECKPOINT_URL in its unit. That beacon node is trusted once: compare
# its finalized root with a second provider's.
# Sources: reth docs cli/reth/download.mdx, 2026-08-21; ethstaker/eth-docker nimbus/docker-entrypoint.sh, 2026-08-20.
set -euo pipefail

folder=${FOLDER:-/srv/quayside-nodes/ethereum}
case ${1:-} in
  jwt)
    [ ! -e "$folder/jwt.hex" ] || { echo "sync.sh: $folder/jwt.hex exists and stays" >&2; exit 0; }
    umask 077
    openssl rand -hex 32 > "$folder/jwt.hex"
    ;;
  reth)
    exec reth download --datadir "$folder/reth" --with-txs-distance 216000 --with-receipts-distance 216000 \
      --with-state-history-distance 10064 -y
    ;;
  nimbus)
    exec nimbus_beacon_node trustedNodeSync --network=mainnet "--data-dir=$folder/nimbus" \
      "--trusted-node-url=${CHECKPOINT_URL:?name a beacon node that you trust, such as https://beacon.example}" --backfill=false
    ;;
  geth | lighthouse) echo "$1 needs no preparation: start it" ;;
  *) echo 'sync.sh: name jwt, reth, nimbus, geth or lighthouse' >&2; exit 2 ;;
esac
