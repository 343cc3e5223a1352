/**
 * Renders a world's blocks as JSON of a Solana node, as `getBlock` answers.
 * Members are in alphabetical order, as Agave writes them. Whatever the world does not have gets well-formed values:
 * votes, fees, lamports, and how much an account held before (what it gained or lost is the world's truth).
 */
import { base58 } from '@scure/base';
import { solanaAddress } from '../chains/solana/address.ts';
import { tokenAccountOf } from '../chains/solana/token-account.ts';
import { formatUnits } from '../core/money.ts';
import type { WorldBlock } from './block-tree.ts';
import { digest } from './digest.ts';
import type { WorldTransaction } from './transaction.ts';

export const TOKEN_2022_PROGRAM = 'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb';
const VOTE_PROGRAM = 'Vote111111111111111111111111111111111111111';
const SYSTEM_PROGRAM = '11111111111111111111111111111111';

/** About one slot in this many has no block. */
const SKIPPED_EVERY = 20;
const VOTES = 2;
const FEE_LAMPORTS = 5000;
const ACCOUNT_LAMPORTS = 2_039_280;
const COMPUTE_UNITS = 12_110;
const COST_UNITS = 13_796;
const WALLET_LAMPORTS = 1_000_000_000;

/** A transaction's version, which a client must have declared as supported. */
type Version = 'legacy' | 0 | 1;

/** A token of the network and whether it is a genuine one. */
export type Mint = Readonly<{ key: string; decimals: number; program: string }>;

/** Returns whether the leader of a slot failed to make a block. Always the same for the same slot. */
export const isSkippedSlot = (chainId: string, slot: number): boolean =>
  slot > 0 && Number.parseInt(digest('slot', chainId, slot).slice(0, 8), 16) % SKIPPED_EVERY === 0;

export const formatBlockHash = (digits: string): string => base58.encode(Buffer.from(digits, 'hex'));
/** A signature has 64 bytes: the transaction's id, and a half derived from it. */
export const formatSignature = (id: string): string => base58.encode(Buffer.from(id + digest('signature', id), 'hex'));
/** Returns the first signature of a transaction: its wallet's own, or a made-up one. */
export const signatureOf = ({ id, signed }: WorldTransaction): string =>
  signed ? base58.encode(Buffer.from(signed.bytes, 'hex').subarray(1, 65)) : formatSignature(id);
/** Returns the world's id of a wallet's signature: half of it is enough to be unique. */
export const idOfSignature = (text: string): string => Buffer.from(base58.decode(text)).subarray(0, 32).toString('hex');

const versions: readonly Version[] = ['legacy', 0, 1];
/** Wallets here sign legacy messages. */
export const versionOf = ({ id, signed }: WorldTransaction): Version =>
  signed ? 'legacy' : (versions[Number.parseInt(id.slice(0, 6), 16) % 3] ?? 0);

/** The change of one token account: `before` is null if it was created in the transaction. */
type AccountChange = Readonly<{ owner: string; mint: Mint; before: bigint | null; after: bigint }>;

/** Returns net changes by owner and mint, in the order in which they first appear. */
function changesOf({ id, entries, succeeded }: WorldTransaction, mintOf: (token: string) => Mint): AccountChange[] {
  const nets = new Map<string, { owner: string; mint: Mint; units: bigint }>();
  const add = (owner: string, token: string, units: bigint): void => {
    const key = `${owner} ${token}`;
    const net = nets.get(key) ?? { owner, mint: mintOf(token), units: 0n };
    nets.set(key, { ...net, units: net.units + units });
  };
  for (const { kind, token, from, to, units } of entries) {
    if (kind !== 'transfer') continue;
    add(from, token, -units);
    add(to, token, units);
  }
  return [...nets.values()].map(({ owner, mint, units }) => {
    const filler = BigInt(`0x${digest('held', id, owner, mint.key).slice(0, 8)}`);
    const held = units < 0n ? filler - units : filler;
    if (!succeeded) return { owner, mint, before: held, after: held };
    const isNew = units > 0n && filler % 2n === 0n;
    return { owner, mint, before: isNew ? null : held, after: isNew ? units : held + units };
  });
}

function tokenBalance(accountIndex: number, { owner, mint }: AccountChange, units: bigint) {
  const shown = formatUnits(units, mint.decimals);
  return {
    accountIndex,
    mint: solanaAddress.format(mint.key),
    owner: solanaAddress.format(owner),
    programId: mint.program,
    uiTokenAmount: {
      amount: units.toString(),
      decimals: mint.decimals,
      uiAmount: units === 0n ? null : JSON.parse(shown),
      uiAmountString: shown,
    },
  };
}

const accountKey = (pubkey: string, signer: boolean, writable: boolean) => ({
  pubkey,
  signer,
  source: 'transaction',
  writable,
});

/** Returns the lamports that the sender lost: the fee, and what it sent. */
function spentBy({ sender, signed, native = [], succeeded }: WorldTransaction): bigint {
  if (!signed) return BigInt(FEE_LAMPORTS);
  const given = succeeded ? native.filter(({ from }) => from === sender) : [];
  return given.reduce((sum, { units }) => sum + units, signed.feeUnits);
}

const accountKeyOf = (owner: string, mint: string): string =>
  Buffer.from(tokenAccountOf(Buffer.from(owner, 'hex'), Buffer.from(mint, 'hex'))).toString('hex');

/** Lamports of an account before and after a transaction, besides its sender and token accounts. `key` is hex. */
export type CoinChange = Readonly<{ key: string; before: bigint; after: bigint }>;

function renderTransaction(
  transaction: WorldTransaction,
  mintOf: (token: string) => Mint,
  coins: readonly CoinChange[] = [],
) {
  const { sender, target, succeeded } = transaction;
  const lamportsSpent = spentBy(transaction);
  const lamportsFee = transaction.signed?.feeUnits ?? BigInt(FEE_LAMPORTS);
  const changes = changesOf(transaction, mintOf);
  const tokenAccounts = changes.map(({ owner, mint }) =>
    solanaAddress.format(transaction.signed ? accountKeyOf(owner, mint.key) : digest('token account', owner, mint.key)),
  );
  const programs = [...new Set(changes.map(({ mint }) => mint.program))];
  const mints = [...new Set(changes.map(({ mint }) => solanaAddress.format(mint.key)))];
  const moved = coins.flatMap((coin) => {
    const address = solanaAddress.format(coin.key);
    return tokenAccounts.includes(address) ? [] : [{ ...coin, address }];
  });
  const known = [...mints, ...moved.map(({ address }) => address)];
  const called = known.includes(solanaAddress.format(target)) ? [] : [solanaAddress.format(target)];
  const readOnly = [...mints, ...called, SYSTEM_PROGRAM, ...programs];
  // The fee payer comes first; token accounts follow.
  const accountKeys = [
    accountKey(solanaAddress.format(sender), true, true),
    ...[...tokenAccounts, ...moved.map(({ address }) => address)].map((pubkey) => accountKey(pubkey, false, true)),
    ...readOnly.map((pubkey) => accountKey(pubkey, false, false)),
  ];
  const err = succeeded ? null : { InstructionError: [0, { Custom: 1 }] };
  const rest = readOnly.map(() => 1);
  return {
    meta: {
      err,
      fee: Number(lamportsFee),
      postBalances: [
        WALLET_LAMPORTS,
        ...changes.map(() => ACCOUNT_LAMPORTS),
        ...moved.map(({ after }) => after),
        ...rest,
      ],
      postTokenBalances: changes.map((change, at) => tokenBalance(at + 1, change, change.after)),
      preBalances: [
        WALLET_LAMPORTS + Number(lamportsSpent),
        ...changes.map(({ before }) => (before === null ? 0 : ACCOUNT_LAMPORTS)),
        ...moved.map(({ before }) => before),
        ...rest,
      ],
      preTokenBalances: changes.flatMap((change, at) =>
        change.before === null ? [] : [tokenBalance(at + 1, change, change.before)],
      ),
      status: err ? { Err: err } : { Ok: null },
    },
    transaction: { accountKeys, signatures: [signatureOf(transaction)] },
    version: versionOf(transaction),
  };
}

/**
 * Shows a transaction with its message, as encoding `json` does, instead of the accounts' roles.
 */
function withMessage(
  { meta, transaction, version }: ReturnType<typeof renderTransaction>,
  { parent }: Pick<WorldBlock, 'parent'>,
) {
  const { accountKeys, signatures } = transaction;
  const { err, fee, status, ...balances } = meta;
  // Filler: one instruction of the last program, with every account that can be written.
  const program = accountKeys.at(-1)?.pubkey ?? SYSTEM_PROGRAM;
  const written = accountKeys.flatMap(({ writable }, at) => (writable ? [at] : []));
  return {
    meta: {
      computeUnitsConsumed: COMPUTE_UNITS,
      costUnits: COST_UNITS,
      err,
      fee,
      innerInstructions: [],
      loadedAddresses: { readonly: [], writable: [] },
      logMessages: [`Program ${program} invoke [1]`, `Program ${program} ${err ? 'failed' : 'success'}`],
      ...balances,
      rewards: [],
      status,
    },
    transaction: {
      message: {
        accountKeys: accountKeys.map(({ pubkey }) => pubkey),
        header: {
          numReadonlySignedAccounts: 0,
          numReadonlyUnsignedAccounts: accountKeys.filter(({ writable }) => !writable).length,
          numRequiredSignatures: 1,
        },
        instructions: [{ accounts: written, data: '2', programIdIndex: accountKeys.length - 1, stackHeight: 1 }],
        recentBlockhash: formatBlockHash(parent),
      },
      signatures,
    },
    version,
  };
}

/** Renders one transaction as `getTransaction` answers with encoding `json`. */
export function renderWholeTransaction(
  transaction: WorldTransaction,
  block: Pick<WorldBlock, 'number' | 'timeS' | 'parent'>,
  mintOf: (token: string) => Mint,
  coins: readonly CoinChange[],
) {
  const { meta, transaction: whole, version } = withMessage(renderTransaction(transaction, mintOf, coins), block);
  return { blockTime: block.timeS, meta, slot: block.number, transaction: whole, version };
}

/** Renders a validator's vote, like most transactions of a block. */
export function renderVote(block: WorldBlock, at: number) {
  const voter = solanaAddress.format(digest('voter', at));
  const account = solanaAddress.format(digest('vote account', at));
  return {
    meta: {
      err: null,
      fee: FEE_LAMPORTS,
      postBalances: [WALLET_LAMPORTS - FEE_LAMPORTS, WALLET_LAMPORTS, 1],
      postTokenBalances: [],
      preBalances: [WALLET_LAMPORTS, WALLET_LAMPORTS, 1],
      preTokenBalances: [],
      status: { Ok: null },
    },
    transaction: {
      accountKeys: [
        accountKey(voter, true, true),
        accountKey(account, false, true),
        accountKey(VOTE_PROGRAM, false, false),
      ],
      signatures: [formatSignature(digest('vote', block.hash, at))],
    },
    version: 'legacy',
  };
}

/**
 * Renders a block as `getBlock` answers.
 * @param parentSlot the slot of the block below
 * @param mintOf returns a token by its key
 * @param coinsOf returns what a transaction did to lamports, besides those of its sender
 */
export function renderBlock(
  block: WorldBlock,
  parentSlot: number,
  blockHeight: number,
  details: 'none' | 'accounts',
  mintOf: (token: string) => Mint,
  coinsOf: (transaction: WorldTransaction) => readonly CoinChange[] = () => [],
) {
  const head = {
    blockHeight,
    blockTime: block.timeS,
    blockhash: formatBlockHash(block.hash),
    parentSlot,
    previousBlockhash: formatBlockHash(block.parent),
  };
  if (details === 'none') return head;
  const votes = Array.from({ length: VOTES }, (_, at) => renderVote(block, at));
  const payments = block.transactions.map((one) => renderTransaction(one, mintOf, coinsOf(one)));
  return { ...head, transactions: [...votes, ...payments] };
}
