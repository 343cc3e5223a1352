/**
 * What operations work on.
 * @module
 */
import type { Chain } from '../../src/chains/chain.ts';
import type { PayoutNode } from '../../src/chains/spend.ts';
import type { NetworkConfig } from '../../src/config/network.ts';
import type { Database } from '../../src/database/database.ts';
import type { Clock } from '../../src/lib/clock.ts';
import type { FreezableSigner } from '../payouts/signer-freeze.ts';

export type WorkParts = Readonly<{
  network: NetworkConfig;
  chain: Chain;
  database: Database;
  /** Null if this network only receives. */
  signer: FreezableSigner | null;
  clock: Clock;
  /** Called with how far it is, in words. */
  report: (progress: string) => void;
  /** The time is up, or the process ends: what is open closes, and the work ends as a fault. */
  signal: AbortSignal;
}>;

/** What asks the signer, and the nodes for payouts. */
export type PayoutParts = WorkParts & Readonly<{ signer: FreezableSigner; node: PayoutNode }>;
