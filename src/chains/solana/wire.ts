/**
 * Converts Solana's blocks from unknown JSON into transfers. Pure: runs in worker threads.
 *
 * Money is read from balances, not from instructions. An owner's gain of a mint is the balance of all their token
 * accounts after a transaction less the balance before. That covers inner and batched instructions, accounts at any
 * address, and accounts created in the same transaction. The whole gain of one owner in one transaction is one
 * transfer.
 *
 * If the *owner* of an account changed within the transaction, its earlier balance is no gain of the new owner. Only
 * units that it received in addition count. Handing over a full account (`SetAuthority`) is not a payment, because
 * nobody sent anything and no wallet looks for the account at its address. Units that left such an account are a loss
 * of the earlier owner. If the earlier owner is one of our own wallets, the rest of the account is a loss too, because
 * the new owner can move all of it.
 *
 * Only mints of the configured tokens under the classic token program count. Amounts are read from the text `amount`,
 * never from `uiAmount`. Source: Agave, `transaction-status-client-types/src/lib.rs`.
 */
import type { BlockRef } from '../../core/block.ts';
import { type Fault, invariant, transient } from '../../core/fault.ts';
import { type Fields, isFields } from '../../core/fields.ts';
import type { ChainTransfer, Currency, Token } from '../../core/transfer.ts';
import type { RawContent, Watched, Wire } from '../chain.ts';
import { nonsense, type Origin, readResult } from '../json-rpc.ts';
import { NOBODY, solanaAddress } from './address.ts';
import { sliceBlock } from './block-slices.ts';
import { solanaErrors } from './rpc-errors.ts';

export const TOKEN_PROGRAM = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA';

/** A block's header. */
export type Header = Readonly<{ ref: BlockRef; parentSlot: number }>;

const HASH = /^[1-9A-HJ-NP-Za-km-z]{32,44}$/;
const SIGNATURE = /^[1-9A-HJ-NP-Za-km-z]{64,88}$/;
/** A u64 in decimal. */
const AMOUNT = /^\d{1,20}$/;
/** Account indexes within a transaction are one byte. */
const ACCOUNTS_MAX = 256;

const isWhole = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;

/**
 * Reads a block from an answer to `getBlock`, with or without transactions. The answer does not contain the slot.
 * @throws Fault transient `node_nonsense`
 */
export function readHeader(value: unknown, slot: number, origin: Origin): Header {
  if (!isFields(value)) throw nonsense(origin, `answered for slot ${slot} with a block that is not an object`);
  const { blockhash, previousBlockhash, parentSlot, blockTime } = value;
  if (
    typeof blockhash !== 'string' ||
    typeof previousBlockhash !== 'string' ||
    !HASH.test(blockhash) ||
    !HASH.test(previousBlockhash) ||
    !isWhole(parentSlot) ||
    !isWhole(blockTime)
  ) {
    throw nonsense(origin, `answered for slot ${slot} with a block without its hash, its parent or its time`);
  }
  if (parentSlot >= slot && slot > 0)
    throw nonsense(origin, `answered for slot ${slot} with a parent in slot ${parentSlot}`);
  return { ref: { hash: blockhash, parent: previousBlockhash, number: slot, timeS: blockTime }, parentSlot };
}

/** Returns the fault of a node that has another block in the slot. */
export function otherBlock(block: BlockRef, origin: Origin): Fault {
  return transient(
    'node_block_unknown',
    `${origin.method} at ${origin.host}: the node does not have block ${block.hash} in slot ${block.number}; its chain is read again`,
  );
}

/**
 * Returns the signatures of the transactions that succeeded in a block.
 * @param value an answer with accounts
 * @throws Fault transient `node_nonsense`
 */
export function succeededIn(value: unknown, origin: Origin): ReadonlySet<string> {
  const rows = isFields(value) ? value.transactions : null;
  if (!Array.isArray(rows)) throw nonsense(origin, 'answered with a block without transactions');
  const succeeded = rows.filter((row) => isFields(row) && isFields(row.meta) && row.meta.err === null);
  return new Set(
    succeeded.map(({ transaction }) => String(isFields(transaction) && [transaction.signatures].flat()[0])),
  );
}

/** One token account's balance before or after a transaction. */
type Balance = Readonly<{ account: number; token: Token; owner: string; units: bigint }>;

/** The state of one decoding. */
type Reading = Readonly<{
  block: BlockRef;
  origin: Origin;
  /** By mint. */
  tokens: ReadonlyMap<string, Token>;
  watched: Watched;
  /** Keys of our own wallets by the text of their addresses. */
  own: ReadonlyMap<string, string>;
  found: ChainTransfer[];
}>;

/**
 * Reads balances of the wanted tokens, by account. Token accounts of other programs are ignored, even if they name a
 * wanted mint.
 */
function readBalances({ tokens, origin }: Pick<Reading, 'tokens' | 'origin'>, rows: unknown): Map<number, Balance> {
  if (!Array.isArray(rows)) throw nonsense(origin, 'answered with a transaction without token balances');
  const balances = new Map<number, Balance>();
  for (const row of rows) {
    if (!isFields(row) || typeof row.mint !== 'string') {
      throw nonsense(origin, 'answered with a token balance that is not an object or has no mint');
    }
    const token = tokens.get(row.mint);
    if (!token) continue;
    const { accountIndex: account, owner, programId, uiTokenAmount } = row;
    const { amount, decimals } = isFields(uiTokenAmount) ? uiTokenAmount : {};
    if (!isWhole(account) || account >= ACCOUNTS_MAX || balances.has(account)) {
      throw nonsense(origin, 'answered with a token balance without an account, or with two of the same account');
    }
    if (typeof owner !== 'string' || typeof programId !== 'string') {
      throw nonsense(origin, `answered with a balance of ${token.address} without its owner or its program`);
    }
    if (typeof amount !== 'string' || !AMOUNT.test(amount)) {
      throw nonsense(origin, `answered with a balance of ${token.address} without an amount`);
    }
    if (programId !== TOKEN_PROGRAM) continue;
    if (decimals !== token.decimals) {
      throw nonsense(
        origin,
        `answered with ${String(decimals)} decimals of ${token.address}, which has ${token.decimals}`,
      );
    }
    balances.set(account, { account, token, owner, units: BigInt(amount) });
  }
  return balances;
}

/** An owner's gain (or loss) of one token, and the lowest-numbered account that now holds it. */
type Net = { units: bigint; account: number };

/** Returns net gains of one token by owner, by the rule at the top of this file. */
function netOf(currency: Currency, before: Map<number, Balance>, after: Map<number, Balance>): Map<string, Net> {
  const nets = new Map<string, Net>();
  const add = (owner: string, units: bigint, account: number): void => {
    const net = nets.get(owner);
    if (!net) nets.set(owner, { units, account });
    else {
      net.units += units;
      net.account = Math.min(net.account, account);
    }
  };
  for (const { account, token, owner, units } of after.values()) {
    if (token.symbol !== currency) continue;
    const prior = before.get(account);
    // An account with another mint before was closed and created again.
    if (prior?.token !== token) add(owner, units, account);
    else if (prior.owner === owner) add(owner, units - prior.units, account);
    else if (units > prior.units) add(owner, units - prior.units, account);
    else add(prior.owner, units - prior.units, ACCOUNTS_MAX);
  }
  for (const { account, token, owner, units } of before.values()) {
    if (token.symbol === currency && after.get(account)?.token !== token) add(owner, -units, ACCOUNTS_MAX);
  }
  return nets;
}

/**
 * Returns, by owner, the units lost by handing over accounts that still hold the token, and the new owner of most of
 * them.
 */
function cededOf(currency: Currency, before: Map<number, Balance>, after: Map<number, Balance>): Map<string, Ceded> {
  const ceded = new Map<string, Ceded>();
  for (const { account, token, owner: to, units } of after.values()) {
    const prior = before.get(account);
    if (token.symbol !== currency || prior?.token !== token || prior.owner === to) continue;
    // Units that also left the account are a loss already.
    const kept = prior.units - (units < prior.units ? prior.units - units : 0n);
    const known = ceded.get(prior.owner);
    const most = known && known.mostUnits >= kept ? known : { to, mostUnits: kept };
    ceded.set(prior.owner, { ...most, units: kept + (known?.units ?? 0n) });
  }
  return ceded;
}

type Ceded = Readonly<{ units: bigint; to: string; mostUnits: bigint }>;

/** Returns the owner who lost most, probably the payer. */
function payerOf(nets: ReadonlyMap<string, Net>): string {
  let payer = NOBODY;
  let loss = 0n;
  for (const [owner, { units }] of nets) {
    if (units >= loss) continue;
    loss = units;
    payer = solanaAddress.parse(owner) ?? NOBODY;
  }
  return payer;
}

/** Returns the owner who gained most, who is a payout's payee. */
function payeeOf(nets: ReadonlyMap<string, Net>): string {
  let payee = NOBODY;
  let gain = 0n;
  for (const [owner, { units }] of nets) {
    if (units <= gain) continue;
    gain = units;
    payee = solanaAddress.parse(owner) ?? NOBODY;
  }
  return payee;
}

/**
 * Adds the transfers of one transaction.
 * @param at the transaction's index in the block
 */
function takeTransaction(reading: Omit<Reading, 'block'>, value: unknown, at: number): void {
  const { origin, tokens, watched, own, found } = reading;
  const { meta, transaction } = isFields(value) ? value : {};
  if (!isFields(meta) || meta.err === undefined) {
    throw nonsense(origin, `answered with a transaction without its result (is --enable-rpc-transaction-history on?)`);
  }
  const tx = isFields(transaction) && Array.isArray(transaction.signatures) ? transaction.signatures[0] : null;
  const signature = (): string => {
    if (typeof tx !== 'string' || !SIGNATURE.test(tx)) throw nonsense(origin, 'answered with an unsigned transaction');
    return tx;
  };
  if (meta.err !== null) return;
  const before = readBalances(reading, meta.preTokenBalances);
  const after = readBalances(reading, meta.postTokenBalances);
  const credits: ChainTransfer[] = [];
  for (const [place, { symbol }] of [...tokens.values()].entries()) {
    const nets = netOf(symbol, before, after);
    const ceded = own.size > 0 ? cededOf(symbol, before, after) : new Map<string, Ceded>();
    for (const [owner, from] of own) {
      const given = ceded.get(owner);
      const units = (given?.units ?? 0n) - (nets.get(owner)?.units ?? 0n);
      if (units <= 0n) continue;
      const to = given && given.units > 0n ? (solanaAddress.parse(given.to) ?? NOBODY) : payeeOf(nets);
      // An owner has one loss of each token, so the token's place makes the index unique among the outgoing transfers.
      const moved = { currency: symbol, from, to, units, isOutgoing: true } as const;
      credits.push({ tx: signature(), index: at * ACCOUNTS_MAX + place, ...moved });
    }
    for (const [owner, { units, account }] of nets) {
      if (units <= 0n) continue;
      const to = solanaAddress.parse(owner);
      if (to === null) throw nonsense(origin, 'answered with an owner that is not an address');
      if (!watched(to)) continue;
      // Unique in the block and independent of the watched addresses, because an account has one owner and one mint
      // after a transaction.
      credits.push({
        tx: signature(),
        index: at * ACCOUNTS_MAX + account,
        currency: symbol,
        from: payerOf(nets),
        to,
        units,
      });
    }
  }
  found.push(...credits.sort((a, b) => a.index - b.index));
}

const byMint = (tokens: readonly Token[]): ReadonlyMap<string, Token> =>
  new Map(tokens.map((token) => [token.address, token]));

/** Checks the block against the request and returns it. */
function checkBlock({ block, origin }: Reading, value: unknown): Fields {
  const { ref } = readHeader(value, block.number, origin);
  if (ref.hash !== block.hash) throw otherBlock(block, origin);
  if (ref.parent !== block.parent) throw nonsense(origin, `answered for block ${block.hash} with another parent`);
  if (!isFields(value) || !Array.isArray(value.transactions)) {
    throw nonsense(origin, `answered for block ${block.hash} without transactions`);
  }
  return value;
}

/** Reads every transaction of the answer. */
function readWhole(reading: Reading, bytes: Uint8Array): void {
  const value = checkBlock(reading, readResult(bytes, reading.origin, solanaErrors));
  const transactions = value.transactions as readonly unknown[];
  transactions.forEach((transaction, at) => {
    takeTransaction(reading, transaction, at);
  });
}

/** Reads only the transactions whose bytes name a wanted mint. */
function readSlices(reading: Reading, bytes: Uint8Array): void {
  const sliced = sliceBlock(bytes, [...reading.tokens.keys()]);
  if (!sliced) throw unusual(reading);
  checkBlock(reading, readResult(Buffer.from(sliced.frame), reading.origin, solanaErrors));
  for (const { at, bytes: slice } of sliced.slices) takeTransaction(reading, parseSlice(reading, slice), at);
}

function parseSlice(reading: Reading, slice: Buffer): unknown {
  try {
    return JSON.parse(slice.toString());
  } catch {
    throw unusual(reading);
  }
}

function unusual({ block, origin }: Reading): Fault {
  return transient(
    'node_content_doubtful',
    `${origin.method} at ${origin.host} sent block ${block.number} ${block.hash} in an unusual layout: all of it is parsed`,
  );
}

function decode(
  content: RawContent,
  tokens: readonly Token[],
  watched: Watched,
  own: ReadonlySet<string> = new Set(),
): ChainTransfer[] {
  const { block, kind, bytes, context } = content;
  invariant(kind === 'slices' || kind === 'whole', `Solana content is read in slices or whole, not as ${kind}`);
  const reading: Reading = {
    block,
    origin: { method: 'getBlock', host: String(context.host) },
    tokens: byMint(tokens),
    watched,
    own: new Map([...own].map((key) => [solanaAddress.format(key), key])),
    found: [],
  };
  if (kind === 'slices') readSlices(reading, bytes);
  else readWhole(reading, bytes);
  return reading.found;
}

export const solanaWire: Wire = { decode };
