/**
 * What a database says of payouts is in doubt from each start on, until the engine of a network has looked: the whole
 * machine may have been put back to an earlier state.
 * @module
 */
import type { NetworkKey } from '../../../core/transfer.ts';
import { connect } from '../connection.ts';
import { guarded } from '../storage-fault.ts';

const BUSY_TIMEOUT_MS = 5_000;

/**
 * Lets nothing be canceled or ended as never paid on these networks until their engines have looked. To be called
 * before the server answers.
 * @throws Fault `storage_unavailable`, `storage_damaged`
 */
export function doubtEngines(file: string, networks: readonly NetworkKey[], nowMs: number): void {
  guarded(file, () => {
    const client = connect(file, BUSY_TIMEOUT_MS, true);
    try {
      const doubt = client.prepare(
        `INSERT INTO payout_engines (network, fence, journal_id, is_uncertain, updated_at_ms) VALUES (?, 0, 0, 1, ?)
         ON CONFLICT (network) DO UPDATE SET is_uncertain = 1`,
      );
      client.transaction(() => {
        for (const network of networks) doubt.run(network, nowMs);
      })();
    } finally {
      client.close();
    }
  });
}
