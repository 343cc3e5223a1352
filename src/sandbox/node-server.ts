/**
 * What every family's simulated node takes and offers.
 * @module
 */
import type { AddressCodec } from '../chains/chain.ts';
import { invariant } from '../core/fault.ts';
import type { Token } from '../core/transfer.ts';
import type { Faults } from './faults.ts';
import type { Miner } from './miner.ts';
import type { World } from './world.ts';

export type NodeServerOptions = Readonly<{
  world: World;
  miner: Miner;
  faults: Faults;
  /** Decimal text, as in the configuration. */
  chainId: string;
  tokens: readonly Token[];
  /** Tried first; 0 for any. */
  port: number;
  /** What control methods ask for; null leaves them open. */
  controlToken: string | null;
}>;

/** `url` is where a family's `node.ts` connects, and `rpcUrl` where it asks, if that is not the same. */
export type NodeServer = Readonly<{ url: string; rpcUrl?: string; close(): Promise<void> }>;

/** The key of a configured token. */
export function tokenKey(codec: Pick<AddressCodec, 'parse'>, { address }: Pick<Token, 'address'>): string {
  const key = codec.parse(address);
  invariant(key !== null, `the configured token address ${address} is one`);
  return key;
}
