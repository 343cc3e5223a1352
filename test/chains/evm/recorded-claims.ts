/**
 * Parts that the readers of recorded answers share: one client version, its recordings, and a node that plays them.
 */
import * as assert from 'uvu/assert';
import type { Node } from '../../../src/chains/chain.ts';
import { openNode } from '../../../src/chains/evm/node/node.ts';
import { openPayoutNode } from '../../../src/chains/evm/node/payout-node.ts';
import { openEvmRpc } from '../../../src/chains/evm/node/rpc.ts';
import { evmErrors } from '../../../src/chains/evm/rpc-errors.ts';
import { readResult } from '../../../src/chains/json-rpc.ts';
import type { PayoutNode } from '../../../src/chains/spend.ts';
import type { Fault } from '../../../src/core/fault.ts';
import type { Token } from '../../../src/core/transfer.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import {
  type Json,
  type RecordedNode,
  type Recording,
  readRecordings,
  startRecordedNode,
  theRecording,
} from '../../support/recordings.ts';
import { faultOf } from '../../support/refusal.ts';

/** The token of the recorded networks, and a contract beside it that reverts without a reason. */
export const recordedTokens: readonly Token[] = [
  { symbol: 'USDT', address: '0xAE519FC2Ba8e6fFE6473195c092bF1BAe986ff90', decimals: 6 },
  { symbol: 'USDC', address: '0x73b647cbA2FE75Ba05B8e12ef8F8D6327D6367bF', decimals: 6 },
];
/** The account that made the recorded payments, and the one that they were for. */
export const PAYER = '19e7e376e7c213b7e7e7e46cc70a5dd086daff2a';
export const PAYEE = '00000000000000000000000000000000000c0ffe';

const limits = { requestTimeoutMs: 10_000, responseBytesMax: 8_000_000, idleMsMax: 10_000, concurrencyMax: 4 };

/** One client version. */
export type Recorded = Readonly<{
  version: string;
  chainId: string;
  recordings: ReadonlyMap<string, Recording>;
  played: RecordedNode;
  /** Returns a recording, which must exist. */
  the(file: string): Recording;
}>;

/** @param results of methods that no played recording answers */
export async function openRecorded(
  version: string,
  chainId: string,
  results: Readonly<Record<string, (params: readonly Json[]) => unknown>>,
): Promise<Recorded> {
  const recordings = readRecordings(`evm/${version}`);
  const fallback = (method: string, params: Json) => JSON.stringify(results[method]?.(params)) ?? null;
  const the = (name: string) => theRecording(recordings, name);
  return { version, chainId, recordings, played: await startRecordedNode(fallback), the };
}

/** Files, and how they are read. A file may have several readers. */
export type Claim = readonly [files: RegExp, read: (recording: Recording, recorded: Recorded) => unknown];

/** Runs `ask` with a client, and closes it. */
async function using<Client extends Readonly<{ close(): Promise<void> }>, T>(
  client: Client,
  ask: (client: Client) => Promise<T>,
): Promise<T> {
  try {
    return await ask(client);
  } finally {
    await client.close();
  }
}

type Over = 'httpUrl' | 'wsUrl';

/** Runs `ask` with the client that follows a network. */
export const following = <T>({ played }: Recorded, ask: (node: Node) => Promise<T>, over: Over = 'httpUrl') =>
  using(openNode({ ...limits, url: played[over], tokens: recordedTokens }), ask);

/** Runs `ask` with the client that makes payouts. */
export const paying = <T>({ played, chainId }: Recorded, ask: (node: PayoutNode) => Promise<T>) =>
  using(openPayoutNode({ ...limits, url: played.httpUrl, chainId, tokens: recordedTokens, finalDepth: 12 }), ask);

/** Runs `ask` with the plain JSON-RPC client. */
export const calling = <T>(
  { played }: Recorded,
  ask: (rpc: ReturnType<typeof openEvmRpc>['rpc']) => Promise<T>,
  over: Over = 'httpUrl',
) => {
  const { rpc, transport } = openEvmRpc({ ...limits, url: played[over] }, systemClock);
  return using(transport, () => ask(rpc));
};

export const origin = { method: 'a recording', host: 'here' };

export const bytesOf = (recording: Recording): Uint8Array => Buffer.from(JSON.stringify(recording.response));

/** Reads the result, as readers of content do. */
export const resultOf = (recording: Recording): Json => readResult(bytesOf(recording), origin, evmErrors);

/** Asserts that `work` fails with a transient fault of this code, and returns the fault. */
export async function expectFault(work: () => unknown, code: string, about: string): Promise<Fault> {
  const fault = await faultOf(Promise.resolve().then(work));
  assert.equal({ code: fault.code, kind: fault.kind }, { code, kind: 'transient' }, `${about}: ${fault.message}`);
  return fault;
}
