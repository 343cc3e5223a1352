/**
 * Parts of a simulated history of payouts: who acts on what.
 */
import type { Payer } from '../../indexers/payouts/engine.ts';
import type { Intent } from '../../src/core/intent.ts';
import type { NetworkKey } from '../../src/core/transfer.ts';
import type { PayingSigner } from '../../src/signer/client.ts';
import type { HandClock } from '../support/hand-clock.ts';
import type { Random } from '../support/random.ts';
import type { Base, Bench } from './payout-bench.ts';
import type { Chain, Lane } from './payout-chain.ts';
import type { Fuse } from './payout-engine.ts';
import type { Machine } from './payout-machine.ts';

/** `hasLooked`: it has begun, so that what is uncertain after a start is known to be so. */
export type Engine = { payer: Payer; fuse: Fuse; hasLooked: boolean };

/** `true`: says yes to true rows, at once. */
export const tempers = ['true', 'lazy', 'wrong'] as const;
type Temper = (typeof tempers)[number];

export type Stage = Readonly<{
  random: Random;
  clock: HandClock;
  bench: Bench;
  network: NetworkKey;
  lane: Lane;
  chain: Chain;
  signer: PayingSigner;
  /** Absent: the machine is never restored, only its database. */
  machine: Machine | null;
  /** The engine that is broadcasting now. */
  at: { base: Base; loss: number; broken: unknown };
  engine: { own: Engine; second: Engine | null };
  planned: Map<string, Intent>;
  /** An operator's acts besides those that messages name; null: none, as in histories of seeds below `WIDER_FROM`. */
  operator: Random | null;
  /** How the operator answers when a network is frozen. */
  temper: Temper;
  /** Payouts that operators have ended as never paid. */
  endedUnpaid: Set<string>;
  hasBackup: { yes: boolean };
  /** Starts the engine again. */
  restart(): void;
  note(what: string): void;
  count(what: string): void;
}>;
