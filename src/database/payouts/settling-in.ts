/**
 * The heartbeat of payout engines, and since when a network settles in: see `indexers/payouts/settling-in.ts`.
 */

import type { NetworkKey } from '../../core/transfer.ts';
import type { Client } from '../engine/connection.ts';
import { connect } from '../engine/connection.ts';
import { guarded } from '../engine/storage-fault.ts';

const BUSY_TIMEOUT_MS = 5_000;
/** A restart takes less. A longer gap may be anything: a stop, or a machine that was put back to a snapshot. */
const GAP_MS_MAX = 120_000;

/** A database that was created now has lost nothing: its engines begin as if they had a heartbeat. */
const addQuery = `
  INSERT INTO payout_engines (network, fence, journal_id, beat_at_ms, settling_until_ms, updated_at_ms)
  SELECT :network, 0, 0, iif(is_new, :nowMs, NULL), iif(is_new, NULL, 0), :nowMs
  FROM (SELECT coalesce(min(applied_at_ms) BETWEEN :nowMs - ${GAP_MS_MAX} AND :nowMs, 0) AS is_new FROM migrations)
  WHERE NOT EXISTS (SELECT 1 FROM payout_engines WHERE network = :network)`;
const beginQuery = `
  UPDATE payout_engines SET settling_until_ms = 0
  WHERE network = :network AND (beat_at_ms IS NULL OR beat_at_ms NOT BETWEEN :nowMs - ${GAP_MS_MAX} AND :nowMs)`;

/**
 * Returns a function that begins the settling-in of a network unless its engine has left a heartbeat in the last two
 * minutes. To be called within a transaction.
 */
export function createSettlingStart(client: Client): (network: NetworkKey, nowMs: number) => void {
  const add = client.prepare(addQuery);
  const begin = client.prepare(beginQuery);
  return (network, nowMs) => {
    add.run({ network, nowMs });
    begin.run({ network, nowMs });
  };
}

/**
 * Begins the settling-in of these networks where it is due, so that nothing is canceled or ended as never paid from the
 * first request on. To be called before the server answers.
 * @throws Fault `storage_unavailable`, `storage_damaged`
 */
export function settleEngines(file: string, networks: readonly NetworkKey[], nowMs: number): void {
  guarded(file, () => {
    const client = connect(file, BUSY_TIMEOUT_MS, true);
    try {
      const begin = createSettlingStart(client);
      client.transaction(() => {
        for (const network of networks) begin(network, nowMs);
      })();
    } finally {
      client.close();
    }
  });
}
