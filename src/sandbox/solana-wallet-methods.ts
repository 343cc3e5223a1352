/**
 * The methods that wallets need of a Solana node: balances, a recent block to sign on, the cost of deposits and
 * priority, and sending a transaction.
 */
import { base58 } from '@scure/base';
import { TOKEN_PROGRAM } from '../chains/solana/wire.ts';
import type { Accounts } from './accounts.ts';
import { invalidParams } from './json-rpc.ts';
import { BLOCKHASH_BLOCKS, depositOf, openSolanaPool, openTokenAccounts, TOKEN_ACCOUNT_BYTES } from './solana-pool.ts';
import { inContext, listOf, type Method, newest, type Question, settingsOf } from './solana-question.ts';
import { formatBlockHash, idOfSignature } from './solana-render.ts';
import type { World } from './world.ts';

const SYSTEM_PROGRAM = '11111111111111111111111111111111';
/** The balance of a made-up payer, as the wallet that a test validator's genesis funds: more than 2^53. */
const PAYER_LAMPORTS = 499_999_999_964_530_721n;
const PRIORITY_FEE = 1_000;
const FEES_SHOWN = 20;
const INITIALISED = 1;
/** The largest epoch: rent is never collected. */
export const RENT_EPOCH = 2n ** 64n - 1n;

/**
 * Creates the methods.
 * @param chain.heightOf returns the height of a slot's block
 */
export function solanaWallets({
  world,
  tokens,
  heightOf,
}: Readonly<{ world: World; tokens: readonly string[]; heightOf: (slot: number) => number }>) {
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
    lamports,
    owner,
    rentEpoch: RENT_EPOCH,
    space: data.length,
  });

  const lamportsOf = (key: string, accounts: Accounts): bigint =>
    accounts.native(key) + (owners.isPayer(key) ? PAYER_LAMPORTS : 0n);

  /**
   * Returns an account as `getMultipleAccounts` shows it; null if there is none.
   * @param key hex
   * @param number the block in whose state it is
   */
  function account(key: string, number: number): object | null {
    const accounts = world.accounts(number);
    const held = owners.find(key);
    if (held) {
      const data = Buffer.alloc(TOKEN_ACCOUNT_BYTES);
      data.set(Buffer.from(held.mint, 'hex'));
      data.set(Buffer.from(held.owner, 'hex'), 32);
      data.writeBigUInt64LE(accounts.token(held.mint, held.owner), 64);
      data.writeUInt8(INITIALISED, 108);
      return shown(depositOf(TOKEN_ACCOUNT_BYTES), TOKEN_PROGRAM, data);
    }
    const lamports = lamportsOf(key, accounts);
    return lamports === 0n ? null : shown(lamports, SYSTEM_PROGRAM, Buffer.alloc(accounts.hasData(key) ? 1 : 0));
  }

  function send({ params }: Question): string {
    const bytes = Buffer.from(String(listOf(params)[0]), 'base64');
    world.submit(pool.check(bytes));
    return base58.encode(bytes.subarray(1, 65));
  }

  const methods: Record<string, Method> = {
    sendTransaction: send,

    getLatestBlockhash({ params, view }) {
      const settings = settingsOf(listOf(params)[0]);
      const block = newest(view, settings);
      const lastValidBlockHeight = heightOf(block.number) + BLOCKHASH_BLOCKS;
      return inContext(newest(view, settings), { blockhash: formatBlockHash(block.hash), lastValidBlockHeight });
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
