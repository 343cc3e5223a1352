/**
 * The second reading of a Solana block: the whole block with all details, every transaction of it, where the follower
 * asks for the accounts only and reads the transactions that name a token.
 * @module
 */
import * as z from 'zod';
import type { NodeOptions } from '../../src/chains/chain.ts';
import { errorFault } from '../../src/chains/json-rpc.ts';
import { solanaAddress } from '../../src/chains/solana/address.ts';
import { readUrls } from '../../src/chains/solana/node/urls.ts';
import { isSkippedOrMissing, solanaErrors } from '../../src/chains/solana/rpc-errors.ts';
import { createRpcClient } from '../../src/chains/transport/rpc-client.ts';
import { openRpcHttp } from '../../src/chains/transport/rpc-http.ts';
import type { BlockRef } from '../../src/core/block.ts';
import { invariant } from '../../src/core/fault.ts';
import type { Token } from '../../src/core/transfer.ts';
import type { Clock } from '../../src/lib/clock.ts';
import type { SecondTransfer } from './difference.ts';
import { blockUnknown, expectShape, type SecondReading } from './reading.ts';

const TOKEN_PROGRAM = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA';
/** A transaction's accounts are numbered by one byte. */
const ACCOUNTS_MAX = 256;
/** The sender of tokens that nobody lost. */
const NOBODY = '0'.repeat(64);

const balance = z.object({
  accountIndex: z.number(),
  mint: z.string(),
  owner: z.string(),
  programId: z.string(),
  uiTokenAmount: z.object({ amount: z.string().regex(/^\d+$/) }),
});
type Balance = z.infer<typeof balance>;
const transaction = z.object({
  meta: z.object({
    err: z.unknown(),
    preTokenBalances: z.array(balance),
    postTokenBalances: z.array(balance),
  }),
  transaction: z.object({ signatures: z.array(z.string()).min(1) }),
});
type Transaction = z.infer<typeof transaction>;
const block = z.object({ blockhash: z.string(), transactions: z.array(transaction) });

/** Opens a connection of its own. @throws Fault permanent `node_url_invalid` */
export function openSolanaReading(options: NodeOptions, clock: Clock): SecondReading {
  const { rpcUrl: url } = readUrls(options);
  const { host } = url;
  const http = openRpcHttp({ ...options, url, host }, clock);
  const rpc = createRpcClient(http, { ...options, host, meanings: solanaErrors });

  async function read(ref: BlockRef): Promise<SecondTransfer[]> {
    const method = 'getBlock';
    const details = { encoding: 'json', transactionDetails: 'full', rewards: false, commitment: 'confirmed' };
    const answer = await rpc.attempt(method, [ref.number, { ...details, maxSupportedTransactionVersion: 1 }]);
    if (!answer.ok && isSkippedOrMissing(answer.error)) throw blockUnknown(ref, host);
    if (!answer.ok) throw errorFault(answer.error, { method, host }, solanaErrors);
    const { blockhash, transactions } = expectShape(block, answer.result, 'a block');
    if (blockhash !== ref.hash) throw blockUnknown(ref, host);
    return transactions.flatMap((one, at) => options.tokens.flatMap((token) => transfersOf(one, at, token)));
  }

  return { method: 'getBlock with all details', read, close: http.close };
}

/** What an owner gained or lost of one token, and its account with the lowest number. */
type Gain = { units: bigint; account: number };

/** Returns what each owner received of a token. @param at the transaction's index in the block */
function transfersOf({ meta, transaction: { signatures } }: Transaction, at: number, token: Token): SecondTransfer[] {
  if (meta.err !== null) return [];
  const gains = gainsOf(accountsOf(meta.preTokenBalances, token), accountsOf(meta.postTokenBalances, token));
  const least = [...gains.values()].reduce((low, { units }) => (units < low ? units : low), 0n);
  const losers = [...gains].filter(([, { units }]) => least < 0n && units === least).map(([owner]) => owner);
  const [loser] = losers;
  // Of two who lost the same, either may be shown.
  const from = loser === undefined ? NOBODY : losers.length > 1 ? null : keyOf(loser);
  const [tx = ''] = signatures;
  return [...gains].flatMap(([owner, { units, account }]) =>
    units > 0n
      ? [{ tx, index: at * ACCOUNTS_MAX + account, currency: token.symbol, from, to: keyOf(owner), units }]
      : [],
  );
}

const accountsOf = (rows: readonly Balance[], { address }: Token): Map<number, Balance> =>
  new Map(
    rows
      .filter(({ mint, programId }) => mint === address && programId === TOKEN_PROGRAM)
      .map((row) => [row.accountIndex, row]),
  );

/**
 * Adds up accounts by owner. An account that changed its owner brings the new one only what it received on top of what
 * it held; what it lost is the earlier owner's loss.
 */
function gainsOf(before: ReadonlyMap<number, Balance>, after: ReadonlyMap<number, Balance>): Map<string, Gain> {
  const gains = new Map<string, Gain>();
  const numbers = [...new Set([...before.keys(), ...after.keys()])].sort((a, b) => a - b);
  for (const number of numbers) {
    const [was, is] = [before.get(number), after.get(number)];
    const units = BigInt(is?.uiTokenAmount.amount ?? 0) - BigInt(was?.uiTokenAmount.amount ?? 0);
    const isHandedOver = was && is && was.owner !== is.owner && units <= 0n;
    const owner = isHandedOver || !is ? was?.owner : is.owner;
    invariant(owner !== undefined, 'an account is in one of the two lists');
    const holds = owner === is?.owner ? number : ACCOUNTS_MAX;
    const gain = gains.get(owner) ?? { units: 0n, account: ACCOUNTS_MAX };
    gains.set(owner, { units: gain.units + units, account: Math.min(gain.account, holds) });
  }
  return gains;
}

function keyOf(owner: string): string {
  return solanaAddress.parse(owner) ?? owner;
}
