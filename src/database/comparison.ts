/** What the database holds about a range of blocks, to be compared with the chain at night, and what was found. */
import type { Currency, NetworkKey } from '../core/transfer.ts';

/**
 * A transfer in a canonical block. `bookedUnits` is what the ledger holds of it, 0 if its entries cancel out; `from`
 * and `to` are address keys. `unconfirmed`: not credited yet.
 */
export type RecordedTransfer = Readonly<{
  block: string;
  number: number;
  tx: string;
  index: number;
  currency: Currency;
  from: string;
  to: string;
  units: bigint;
  state: 'confirmed' | 'unconfirmed' | 'dust';
  bookedUnits: bigint;
}>;

/** Canonical blocks and their transfers, lowest first. Final blocks without transfers are not kept for long. */
export type RecordedRange = Readonly<{
  blocks: readonly Readonly<{ number: number; hash: string }>[];
  transfers: readonly RecordedTransfer[];
}>;

export type NumberRange = Readonly<{ from: number; to: number }>;

/**
 * How far a network's final blocks were compared with the database. `from` to `through` are the numbers of the last
 * night, with the blocks that were read in them and the transfers to us. `differs` spans the blocks that differ still,
 * which the next night compares again; `message` is the first difference in them.
 */
export type BlockComparison = Readonly<{
  network: NetworkKey;
  from: number;
  through: number;
  comparedAtMs: number;
  blocks: number;
  transfers: number;
  differs: NumberRange | null;
  differences: number;
  message: string | null;
}>;
