/** The production clients of a Solana node, over a server that gives recorded answers. */
import { solanaAddress } from '../../../src/chains/solana/address.ts';
import { openNode } from '../../../src/chains/solana/node/node.ts';
import { openPayoutNode } from '../../../src/chains/solana/node/payout-node.ts';
import { openSolanaRpc } from '../../../src/chains/solana/node/payout-rpc.ts';
import type { BlockRef } from '../../../src/core/block.ts';
import type { Token } from '../../../src/core/transfer.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { type Json, startRecordedNode } from '../../support/recordings.ts';
import { openRecordings } from '../recorded.ts';

export const GENESIS = '9YB2RYo1dXz7uUjAfMMN6QSCW4ygpEEgdnqsy6EURaP';
export const usdt: Token = { symbol: 'USDT', address: '5NR8o7PSqYbvC2VJkNnvb8mPdUXE8hQDUMzJbdVboCpf', decimals: 6 };
const usdc: Token = { symbol: 'USDC', address: 'HCpy3uPhbTyKh8NSrKngHW2nd3Fn9DCWrNmHzcXyLUcK', decimals: 6 };
export const tokens = [usdt, usdc];
/** The wallet that paid and made all accounts (it holds more than 2^53 lamports), and the one that was paid. */
export const payer = 'F4jiEb61YDzqTm8VphDXj3WqAWLhH9u9VCp5Ja2MgKD6';
export const payee = 'BWrRyUcshBRdQCz9t3QKmXLMtGsFTzfoV1fF6m65qm2q';
/** Somebody who had no account of the token before. */
export const other = 'E1AERhd4NZ6QaVUzvPCptUAT2uKV9nBzpnxVLYy8mn4h';
export const key = (address: string): string => solanaAddress.parse(address) ?? '';

export const limits = { requestTimeoutMs: 10_000, responseBytesMax: 1_000_000, idleMsMax: 60_000, concurrencyMax: 4 };
export const { recordings, recording, resultOf, readsEach, expectAllRead } = openRecordings('solana/agave-3.1.5');

const ACCOUNT = /\{"data":\[[^\]]*\],"executable":\w+,"lamports":\d+,"owner":"\w+","rentEpoch":\d+,"space":\d+\}|null/g;

/** The text of each account that was recorded in base64, by its address. */
function accountTexts(): ReadonlyMap<string, string> {
  const texts = new Map<string, string>();
  for (const { method, params, text } of recordings.values()) {
    const value = /^get(MultipleAccounts|AccountInfo)$/.test(method) && /"value":(.*)\},"id":\d+\}$/s.exec(text)?.[1];
    if (!value) continue;
    const accounts = value.match(ACCOUNT) ?? [];
    for (const [at, address] of [params[0]].flat().entries()) {
      if (accounts[at]?.startsWith('{')) texts.set(String(address), accounts[at]);
    }
  }
  return texts;
}
const accounts = accountTexts();

/** Any accounts that were recorded, and no blocks: the slots between a block and its parent were skipped. */
function fallback(method: string, params: Json): string | null {
  if (method === 'getBlocks') return '[]';
  if (method !== 'getMultipleAccounts') return null;
  const value = params[0].map((address: string) => accounts.get(address) ?? 'null');
  return `{"context":{"apiVersion":"3.1.5","slot":37},"value":[${value}]}`;
}

const served = await startRecordedNode(fallback);
export const replay = {
  ...served,
  /** Of several recordings of one method, the last one answers other parameters. */
  play: (...names: readonly string[]) => served.play(...names.map(recording).reverse()),
  playOnly: (name: string) => served.playOnly(recording(name)),
};
export const place = { url: replay.httpUrl };
export const node = openNode({ ...place, tokens, ...limits });
export const payouts = openPayoutNode({ ...place, chainId: GENESIS, tokens, finalDepth: 32, ...limits });
export const solanaRpc = openSolanaRpc(
  { ...place, chainId: GENESIS, tokens, finalDepth: 32, ...limits },
  place,
  systemClock,
);
export const { rpc } = solanaRpc;
/** Closes all of them. */
export async function closeAll(): Promise<void> {
  await Promise.all([node.close(), payouts.close(), solanaRpc.transport.close()]);
  await replay.close();
}

export const origin = { method: 'getBlock', host: 'recorded' };
export const paidBlock: BlockRef = {
  hash: '4tq8qb7ZY6gFhLCyTCWnFK3SCSnb5rH5BXN3Ar7NJ6Xg',
  parent: 'DW5AHZQevw6oeqFtAHSaKVkvCkJHfY1LwmGBNUwhnHHg',
  number: 6,
  timeS: 1795338739,
};
