/**
 * Options and result of starting a simulated node, for every family.
 */
import type { AddressCodec } from '../chains/chain.ts';
import { invariant } from '../core/fault.ts';
import type { Token } from '../core/transfer.ts';
import type { DialectName } from './evm-dialect.ts';
import type { Interceptor } from './interceptor.ts';
import type { World } from './world.ts';

export type NodeServerOptions = Readonly<{
  world: World;
  interceptor: Interceptor;
  /** Decimal text, as in the configuration. */
  chainId: string;
  /** Which of the family's chains is shown, where they differ on the wire. */
  dialect?: DialectName;
  tokens: readonly Token[];
  /** Of `url`; tried first; 0 for any free port. */
  port: number;
  /** Required by control methods; null leaves them open. */
  controlToken: string | null;
}>;

/** `url` is what a family's node client connects to, and `rpcUrl` where it sends requests, if that differs. */
export type NodeServer = Readonly<{ url: string; rpcUrl?: string; close(): Promise<void> }>;

/** Returns the key of a configured token. */
export function tokenKey(codec: Pick<AddressCodec, 'parse'>, { address }: Pick<Token, 'address'>): string {
  const key = codec.parse(address);
  invariant(key !== null, `the configured token address ${address} is valid`);
  return key;
}
