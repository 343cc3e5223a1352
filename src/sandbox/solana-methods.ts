/**
 * The read methods of a Solana node, answered from a world. Codes and texts of errors are Agave's
 * (`rpc-client-api/src/custom_error.rs`).
 */
import { TOKEN_PROGRAM } from '../chains/solana/wire.ts';
import type { WorldBlock } from './block-tree.ts';
import { invalidParams, RpcError } from './json-rpc.ts';
import { isSigned } from './mempool.ts';
import { readBase58 } from './solana-errors.ts';
import { inContext, listOf, type Method, newest, type Settings, settingsOf } from './solana-question.ts';
import {
  type CoinChange,
  isSkippedSlot,
  type Mint,
  renderBlock,
  renderWholeTransaction,
  signatureOf,
  TOKEN_2022_PROGRAM,
} from './solana-render.ts';
import { RENT_EPOCH, solanaWallets } from './solana-wallet-methods.ts';
import { lookalikeKey, type WorldTransaction } from './transaction.ts';
import type { View, World } from './world.ts';

type SolanaChain = Readonly<{
  world: World;
  /** The genesis hash, which identifies the chain. */
  chainId: string;
  tokens: readonly Readonly<{ key: string; decimals: number }>[];
}>;

const SLOTS_MAX = 500_000;
const KEY_BYTES = 32;
const SIGNATURE_BYTES = 64;
/** Half of a signature, in hex, is enough to be unique. */
const ID_CHARACTERS = 64;
const MINT_BYTES = 82;
const MINT_LAMPORTS = 1_461_600;

function slotOf(value: unknown): number {
  if (Number.isSafeInteger(value) && Number(value) >= 0) return Number(value);
  throw invalidParams(`Invalid params: ${JSON.stringify(value)}, expected u64.`);
}

/** Returns the methods by name; each throws `RpcError`. */
export function solanaMethods({ world, chainId, tokens }: SolanaChain): ReadonlyMap<string, Method> {
  const skippedBelow: number[] = [0];
  const wallets = solanaWallets({ world, tokens: tokens.map(({ key }) => key), heightOf });

  /** Skipped slots have no height. */
  function heightOf(slot: number): number {
    for (let at = skippedBelow.length; at <= slot; at++) {
      skippedBelow.push((skippedBelow[at - 1] ?? 0) + (isSkippedSlot(chainId, at) ? 1 : 0));
    }
    return slot - (skippedBelow[slot] ?? 0);
  }

  function mintOf(key: string): Mint {
    const token = tokens.find((one) => one.key === key);
    if (token) return { ...token, program: TOKEN_PROGRAM };
    const copied = tokens.find((one) => lookalikeKey(one.key) === key);
    return { key, decimals: copied?.decimals ?? 0, program: TOKEN_2022_PROGRAM };
  }

  function blocksFrom(view: View, settings: Settings, from: number, to: number, limit: number): number[] {
    const top = Math.min(to, newest(view, settings).number);
    if (top - from > SLOTS_MAX) throw invalidParams(`Slot range too large; max ${SLOTS_MAX}`);
    const found: number[] = [];
    for (let slot = from; slot <= top && found.length < limit; slot++) if (view.at(slot)) found.push(slot);
    return found;
  }

  /**
   * Returns the block of a slot.
   * @throws RpcError if the slot has no block to show
   */
  function blockAt(view: View, slot: number, settings: Settings): WorldBlock {
    if (slot > newest(view, settings).number) throw new RpcError(-32004, `Block not available for slot ${slot}`);
    const block = view.at(slot);
    if (block) return block;
    if (slot < view.floor() && slot > 0) {
      throw new RpcError(
        -32001,
        `Block ${slot} cleaned up, does not exist on node. First available block: ${view.floor()}`,
      );
    }
    throw new RpcError(-32007, `Slot ${slot} was skipped, or missing due to ledger jump to recent snapshot`);
  }

  function accountOf(address: unknown, number: number) {
    const key = readBase58(address, KEY_BYTES);
    const token = tokens.find((one) => one.key === key);
    if (!token) return wallets.account(key, number);
    const data = Buffer.alloc(MINT_BYTES);
    data.writeUInt8(token.decimals, 44);
    data.writeUInt8(1, 45);
    return {
      data: [data.toString('base64'), 'base64'],
      executable: false,
      lamports: MINT_LAMPORTS,
      owner: TOKEN_PROGRAM,
      rentEpoch: RENT_EPOCH,
      space: MINT_BYTES,
    };
  }

  /** Returns a transaction of the canonical chain by its signature. */
  function findSigned(signature: unknown, view: View) {
    const place = world.find(readBase58(signature, SIGNATURE_BYTES).slice(0, ID_CHARACTERS));
    const block = place && view.byHash(place.block.hash);
    const transaction = block?.transactions[place?.index ?? -1];
    return block && transaction && signatureOf(transaction) === signature ? { block, transaction } : null;
  }

  function statusOf(signature: unknown, view: View) {
    const found = findSigned(signature, view);
    if (!found) return null;
    const { block, transaction } = found;
    const isFinal = block.number <= view.finalized().number;
    const err = transaction.succeeded ? null : { InstructionError: [0, { Custom: 1 }] };
    return {
      confirmationStatus: isFinal ? 'finalized' : 'confirmed',
      confirmations: isFinal ? null : view.tip().number - block.number,
      err,
      slot: block.number,
      status: err ? { Err: err } : { Ok: null },
    };
  }

  const methods: Record<string, Method> = {
    getHealth: () => 'ok',
    getVersion: () => ({ 'feature-set': 3294202862, 'solana-core': '4.2.0' }),
    getGenesisHash: () => chainId,
    getSlot: ({ params, view }) => newest(view, settingsOf(listOf(params)[0])).number,
    getBlockHeight: ({ params, view }) => heightOf(newest(view, settingsOf(listOf(params)[0])).number),

    getBlocks({ params, view }) {
      const [first, second, third] = listOf(params);
      const hasEnd = typeof second === 'number';
      const from = slotOf(first);
      const to = hasEnd ? slotOf(second) : from + SLOTS_MAX;
      return blocksFrom(view, settingsOf(hasEnd ? third : second), from, to, Number.POSITIVE_INFINITY);
    },

    getBlocksWithLimit({ params, view }) {
      const [first, second, third] = listOf(params);
      const limit = slotOf(second);
      if (limit > SLOTS_MAX) throw invalidParams(`Limit too large; max ${SLOTS_MAX}`);
      const from = slotOf(first);
      return blocksFrom(view, settingsOf(third), from, from + SLOTS_MAX, limit);
    },

    getBlock({ params, view }) {
      const [first, second] = listOf(params);
      const slot = slotOf(first);
      const settings = settingsOf(second);
      const block = blockAt(view, slot, settings);
      const details = settings.transactionDetails;
      if (details !== 'none' && details !== 'accounts') {
        throw invalidParams('the sandbox shows blocks with transactionDetails none or accounts');
      }
      const parentSlot = world.byHash(block.parent)?.number ?? Math.max(0, block.number - 1);
      const coinsOf = (transaction: WorldTransaction) =>
        isSigned(transaction) ? coinChanges(world, block, transaction) : [];
      return renderBlock(block, parentSlot, heightOf(block.number), details, mintOf, coinsOf);
    },

    getMultipleAccounts({ params, view }) {
      const [addresses, second] = listOf(params);
      const asked = listOf(addresses);
      const block = newest(view, settingsOf(second));
      return inContext(
        block,
        asked.map((address) => accountOf(address, block.number)),
      );
    },

    getTransaction({ params, view }) {
      const [signature, second] = listOf(params);
      const settings = settingsOf(second);
      if (settings.encoding !== 'json') throw invalidParams('the sandbox shows transactions with encoding json');
      const found = findSigned(signature, view);
      if (!found || found.block.number > newest(view, settings).number) return null;
      const coins = coinChanges(world, found.block, found.transaction);
      return renderWholeTransaction(found.transaction, found.block, mintOf, coins);
    },

    getSignatureStatuses({ params, view }) {
      const [signatures] = listOf(params);
      const asked = listOf(signatures);
      return inContext(
        view.tip(),
        asked.map((signature) => statusOf(signature, view)),
      );
    },
  };
  return new Map(Object.entries({ ...methods, ...wallets.methods }));
}

// ── Lamports ────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Returns what a transaction of a block did to the lamports of those it sent some, in the order of their names. */
function coinChanges(world: World, block: WorldBlock, transaction: WorldTransaction): readonly CoinChange[] {
  const { sender, native = [], succeeded } = transaction;
  const accounts = world.accounts(block.number - 1);
  for (const earlier of block.transactions) {
    if (earlier.id === transaction.id) break;
    accounts.add(earlier);
  }
  const keys = [...new Set(native.map(({ to }) => to))].filter((key) => key !== sender);
  return keys.map((key) => {
    const before = accounts.native(key);
    const given = native.reduce((sum, { to, units }) => (to === key ? sum + units : sum), 0n);
    return { key, before, after: succeeded ? before + given : before };
  });
}
