/** Reports of followers to the database. */
import type { NetworkKey } from '../../src/core/transfer.ts';
import type { NetworkReport } from '../../src/database/networks.ts';

/** A network that is followed up to block 1 at that moment, unless something else is said. */
export const networkReport = (
  network: NetworkKey,
  nowMs: number,
  more: Partial<NetworkReport> = {},
): NetworkReport => ({
  network,
  state: 'following',
  reason: null,
  headNumber: 1,
  nodeConnected: true,
  nodeHeardAtMs: nowMs,
  readThroughS: 0,
  pid: 1,
  nowMs,
  ...more,
});
