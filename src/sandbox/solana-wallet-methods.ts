/**
 * The methods that wallets need of a Solana node: balances, a recent block to sign on, the cost of deposits and
 * priority, and sending a transaction.
 *
 * @module
 */
import { base58 } from '@scure/base';
import { solanaAddress } from '../chains/solana/address.ts';
import { TOKEN_PROGRAM } from '../chains/solana/wire.ts';
import { invalidParams, RpcError } from './json-rpc.ts';
import { BLOCKHASH_BLOCKS, depositOf, openSolanaPool, openTokenAccounts, TOKEN_ACCOUNT_BYTES } from './solana-pool.ts';
import { inContext, listOf, type Method, newest, type Question, settingsOf } from './solana-question.ts';
import { formatBlockHash, idOfSignature } from './solana-render.ts';
import type { View } from './view.ts';
import type { World } from './world.ts';

const SYSTEM_PROGRAM = '11111111111111111111111111111111';
const PRIORITY_FEE = 1_000;
const FEES_SHOWN = 20;
const INITIALISED = 1;
/** Agave's largest float, for an epoch that never comes. */
const RENT_EPOCH = 18446744073709552000;

export type SolanaWallets = Readonly<{
  /**
   * Returns an account as `getMultipleAccounts` shows it; null if there is none.
   * @param key hex
   */
  account(key: string, view: View): object | null;
  methods: Readonly<Record<string, Method>>;
}>;

/**
 * Creates the methods.
 * @param chain.heightOf returns the height of a slot's block
 */
export function solanaWallets({
  world,
  tokens,
  heightOf,
}: Readonly<{ world: World; tokens: readonly string[]; heightOf: (slot: number) => number }>): SolanaWallets {
  const owners = openTokenAccounts(world, tokens);
  const pool = openSolanaPool(world, owners, lastSlotFor, idOfSignature);

  /** Returns the last slot whose block is at most `BLOCKHASH_BLOCKS` above the named one. */
  function lastSlotFor(blockhash: string): number | null {
    const block = world.byHash(Buffer.from(base58.decode(blockhash)).toString('hex'));
    if (!block) return null;
    const last = heightOf(block.number) + BLOCKHASH_BLOCKS;
    let slot = block.number + BLOCKHASH_BLOCKS;
    while (heightOf(slot + 1) <= last) slot++;
    return slot;
  }

  const shown = (lamports: bigint, owner: string, data: Buffer) => ({
    data: [data.toString('base64'), 'base64'],
    executable: false,
    lamports: Number(lamports),
    owner,
    rentEpoch: RENT_EPOCH,
    space: data.length,
  });

  function account(key: string, view: View): object | null {
    const accounts = world.accounts(view.tip().number);
    const held = owners.find(key);
    if (held) {
      const data = Buffer.alloc(TOKEN_ACCOUNT_BYTES);
      data.set(Buffer.from(held.mint, 'hex'));
      data.set(Buffer.from(held.owner, 'hex'), 32);
      data.writeBigUInt64LE(accounts.token(held.mint, held.owner), 64);
      data.writeUInt8(INITIALISED, 108);
      return shown(depositOf(TOKEN_ACCOUNT_BYTES), TOKEN_PROGRAM, data);
    }
    const lamports = accounts.native(key);
    return lamports === 0n ? null : shown(lamports, SYSTEM_PROGRAM, Buffer.alloc(0));
  }

  function send({ params, fault }: Question): string {
    const [text, second] = listOf(params);
    const settings = settingsOf(second);
    const bytes = settings.encoding === 'base64' ? Buffer.from(String(text), 'base64') : base58.decode(String(text));
    const signature = base58.encode(bytes.subarray(1, 65));
    const transaction = pool.check(bytes, { isSkipped: settings.skipPreflight === true });
    if (transaction && fault !== 'send_dropped') {
      world.submit(fault === 'send_failed' ? { ...transaction, succeeded: false } : transaction);
    }
    if (fault === 'send_denied') throw new RpcError(-32005, 'Node is behind by 42 slots');
    return signature;
  }

  const methods: Record<string, Method> = {
    sendTransaction: send,

    getLatestBlockhash({ params, view }) {
      const block = newest(view, settingsOf(listOf(params)[0]));
      const lastValidBlockHeight = heightOf(block.number) + BLOCKHASH_BLOCKS;
      return inContext(view, { blockhash: formatBlockHash(block.hash), lastValidBlockHeight });
    },

    isBlockhashValid({ params, view }) {
      const last = lastSlotFor(String(listOf(params)[0]));
      return inContext(view, last !== null && view.tip().number <= last);
    },

    getBalance({ params, view }) {
      const key = solanaAddress.parse(String(listOf(params)[0]));
      if (key === null) throw invalidParams('Invalid param: Invalid');
      return inContext(view, Number(world.accounts(view.tip().number).native(key)));
    },

    getMinimumBalanceForRentExemption({ params }) {
      const bytes = Number(listOf(params)[0]);
      if (!Number.isSafeInteger(bytes) || bytes < 0) throw invalidParams('Invalid params: expected usize.');
      return Number(depositOf(bytes));
    },

    getRecentPrioritizationFees: ({ view }) =>
      Array.from({ length: FEES_SHOWN }, (_, at) => ({
        prioritizationFee: PRIORITY_FEE,
        slot: Math.max(0, view.tip().number - FEES_SHOWN + 1 + at),
      })),
  };
  return { account, methods };
}
