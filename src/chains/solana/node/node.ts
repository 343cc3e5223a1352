/**
 * A connection to one Solana node (Agave): blocks by JSON-RPC over HTTP, and wake-ups from the PubSub WebSocket. A
 * `ws://` URL is the WebSocket's; the RPC is one port below (8899 for 8900) unless it is given. An `http://` URL is the
 * RPC's, without wake-ups.
 *
 * A block's number is its slot, and a slot may have no block. The node returns blocks by slot only, so each answer is
 * compared with the expected hash. Every block, from the head to the last check before a credit, is `confirmed`: two
 * thirds of the stake have voted for it. A block that only one node has seen is never shown.
 *
 * Methods used: getGenesisHash, getMultipleAccounts, getHealth, getSlot, getBlocks, getBlocksWithLimit, getBlock,
 * getSignatureStatuses, slotSubscribe. Source: https://solana.com/docs/rpc. The node needs --full-rpc-api and
 * --enable-rpc-transaction-history.
 */

import { type BlockRef, isLinked } from '../../../core/block.ts';
import { Fault, invariant, transient } from '../../../core/fault.ts';
import { type Clock, systemClock } from '../../../lib/clock.ts';
import type { Attestation, Node, NodeIdentity, NodeOptions, RawContent } from '../../chain.ts';
import { errorFault, nonsense, type RpcAnswer } from '../../json-rpc.ts';
import { createRpcClient, type RpcCall } from '../../transport/rpc-client.ts';
import { openRpcHttp } from '../../transport/rpc-http.ts';
import { readMint } from '../mint.ts';
import { isBehind, isNotYet, isSkippedOrMissing, solanaErrors } from '../rpc-errors.ts';
import { type Header, otherBlock, readHeader, succeededIn } from '../wire.ts';
import { askHoldings } from './holdings.ts';
import { openSlotSubscription } from './slot-subscription.ts';
import { readUrls } from './urls.ts';

type Commitment = 'confirmed' | 'finalized';

/** Hashes whose slot is remembered, so that a block can be requested by its hash. Each takes about 100 bytes. */
const SLOTS_KNOWN_MAX = 8_192;
/** Slots below the newest one in which a readable block is searched. */
const HEAD_SLOTS = 16;
/** Farther below the newest final slot, `getBlocks` is too expensive for the node, because it reads on to that slot. */
const LISTED_BELOW_FINAL_MAX = 2_000;
/** A short answer without a result, in any order of its members. */
const NO_RESULT = /"result"\s*:\s*null\b/;
const NO_RESULT_BYTES_MAX = 120;
/** Signatures in one call of `getSignatureStatuses`. */
const SIGNATURES_MAX = 256;

/**
 * Starts connecting; the first call waits for the connection.
 * @throws Fault permanent `node_url_invalid`
 */
export function openNode(options: NodeOptions, clock: Clock = systemClock): Node {
  const { rpcUrl, pushUrl, advice } = readUrls(options);
  // Path and user part often hold an access key. Host and port are enough to find the node.
  const { host } = rpcUrl;
  const http = openRpcHttp({ ...options, url: rpcUrl, host, advice }, clock);
  const push = pushUrl && openSlotSubscription({ ...options, url: pushUrl, host: pushUrl.host }, clock);
  const rpc = createRpcClient(http, { ...options, host, meanings: solanaErrors });
  const slots = new Map<string, number>();
  /** The newest slot that the node has called final. */
  let finalSlot = -1;

  function remember(hash: string, slot: number): void {
    if (!slots.has(hash) && slots.size >= SLOTS_KNOWN_MAX) {
      const oldest = slots.keys().next();
      if (!oldest.done) slots.delete(oldest.value);
    }
    slots.set(hash, slot);
  }

  function keep(header: Header): Header {
    remember(header.ref.hash, header.ref.number);
    remember(header.ref.parent, header.parentSlot);
    return header;
  }

  const blockCall = (slot: number, transactionDetails: 'none' | 'accounts', commitment: Commitment): RpcCall => ({
    method: 'getBlock',
    params: [
      slot,
      { encoding: 'json', transactionDetails, rewards: false, maxSupportedTransactionVersion: 1, commitment },
    ],
  });

  function readBlock(answer: RpcAnswer, slot: number): Header {
    const origin = { method: 'getBlock', host };
    if (!answer.ok) throw blockFault(errorFault(answer.error, origin, solanaErrors), slot);
    if (answer.result === null) throw blockLost(slot, 'null');
    return keep(readHeader(answer.result, slot, origin));
  }

  /** If a later block is final, a block that the node does not have yet will not come. The node has lost it. */
  const blockFault = (fault: Fault, slot: number): Fault =>
    slot <= finalSlot && /^node_(block|status)_pending$/.test(fault.code) ? blockLost(slot, fault.message) : fault;

  const blockLost = (slot: number, said: string): Fault =>
    transient(
      'node_block_missing',
      `${host} has lost its block of slot ${slot} (a restart from a snapshot leaves such a gap): it answered ${said}${slot <= finalSlot ? `, although slot ${finalSlot} is final` : ''}. Catch up from a node that has the block`,
    );

  /** Returns whether an answer has no block because the slot is too new or the node has just started. */
  const isAbsent = (answer: RpcAnswer): boolean => (answer.ok ? answer.result === null : isNotYet(answer.error));

  async function attemptBlock(slot: number, commitment: Commitment): Promise<RpcAnswer> {
    const { method, params } = blockCall(slot, 'none', commitment);
    return rpc.attempt(method, params);
  }

  async function newestSlot(commitment: Commitment): Promise<number> {
    const slot = await rpc.call('getSlot', [{ commitment }]);
    if (!Number.isSafeInteger(slot) || Number(slot) < 0)
      throw nonsense({ method: 'getSlot', host }, 'answered without a slot');
    if (commitment === 'finalized') finalSlot = Math.max(finalSlot, Number(slot));
    return Number(slot);
  }

  /** Returns slots with blocks, in order, from a method that lists them. */
  async function listSlots(method: string, params: readonly unknown[], from: number): Promise<number[]> {
    const listed = await rpc.call(method, params);
    const rises = (slot: unknown, at: number, all: unknown[]) =>
      Number.isSafeInteger(slot) && Number(slot) >= from && (at === 0 || Number(slot) > Number(all[at - 1]));
    if (Array.isArray(listed) && listed.every(rises)) return listed;
    throw nonsense({ method, host }, 'answered with something that is not a rising list of slots');
  }

  /**
   * Lists the slots with blocks, both ends included. Agave's `getBlocks` walks from the first slot to its newest root,
   * even past the end. Catching up with it would cost the node the square of the distance. `getBlocksWithLimit` stops
   * at its limit. Source: https://github.com/anza-xyz/agave/blob/v3.1.5/rpc/src/rpc.rs, `get_blocks`.
   */
  async function blocksBetween(from: number, to: number): Promise<number[]> {
    const commitment = { commitment: 'confirmed' };
    if (finalSlot - from <= LISTED_BELOW_FINAL_MAX) return listSlots('getBlocks', [from, to, commitment], from);
    const listed = await listSlots('getBlocksWithLimit', [from, to - from + 1, commitment], from);
    return listed.filter((slot) => slot <= to);
  }

  async function identity(): Promise<NodeIdentity> {
    const mints = options.tokens.map((token) => token.address);
    const accounts = 'getMultipleAccounts';
    const [chainId, answer] = await Promise.all([
      rpc.call('getGenesisHash', []),
      rpc.call(accounts, [mints, { encoding: 'base64', commitment: 'confirmed' }]),
    ]);
    if (typeof chainId !== 'string') throw nonsense({ method: 'getGenesisHash', host }, 'answered without a hash');
    const { value, context } = (answer ?? {}) as { value?: unknown; context?: { slot?: unknown } };
    const stateNumber = context?.slot;
    if (!Array.isArray(value) || value.length !== mints.length || typeof stateNumber !== 'number') {
      throw nonsense({ method: accounts, host }, `answered with something that is not ${mints.length} accounts`);
    }
    const read = (mint: string, at: number) => readMint(value[at], mint, `${host}, slot ${stateNumber}`);
    return { chainId, decimals: new Map(mints.map((mint, at) => [mint, read(mint, at)])), stateNumber };
  }

  async function head(): Promise<BlockRef> {
    const slot = await newestSlot('confirmed');
    const answer = await attemptBlock(slot, 'confirmed');
    if (!isAbsent(answer)) return inItsSlot(readBlock(answer, slot));
    // The newest slot's block is still being written, but the one before it is complete.
    const below = await blocksBetween(Math.max(0, slot - HEAD_SLOTS), slot - 1);
    const known = below.at(-1);
    if (known === undefined) return readBlock(answer, slot).ref;
    return inItsSlot(readBlock(await attemptBlock(known, 'confirmed'), known));
  }

  async function finalized(): Promise<BlockRef | null> {
    const slot = await newestSlot('finalized');
    const answer = await attemptBlock(slot, 'finalized');
    return isAbsent(answer) ? null : inItsSlot(readBlock(answer, slot));
  }

  /**
   * Checks that a block without a successor is the one of its slot. A block does not contain its own slot, only its
   * parent's. If the slots in between were skipped, the node lists no block in them.
   * @throws Fault transient `node_inconsistent`
   */
  async function inItsSlot({ ref, parentSlot }: Header): Promise<BlockRef> {
    const between = parentSlot + 1 < ref.number ? await blocksBetween(parentSlot + 1, ref.number - 1) : [];
    if (between.length === 0) return ref;
    throw transient(
      'node_inconsistent',
      `${host} answered for slot ${ref.number} with a block whose parent is in slot ${parentSlot}, but has one in slot ${between[0]}`,
    );
  }

  /**
   * Returns the slots from `from` to `to` that have blocks. If none has, returns the next slot above them that does.
   */
  async function slotsOf(from: number, to: number): Promise<number[]> {
    const listed = await blocksBetween(from, to);
    if (listed.at(-1) === to) return listed;
    // Slots missing at the end were skipped only if the node has reached `to`.
    if ((await newestSlot('confirmed')) < to) throw rangeBroken(`end before slot ${to}`);
    if (listed.length > 0) return listed;
    const next = await listSlots('getBlocksWithLimit', [from, 1, { commitment: 'confirmed' }], from);
    if (next.length === 1) return next;
    throw rangeBroken(`have none from slot ${from} on`);
  }

  async function range(fromNumber: number, toNumber: number): Promise<readonly BlockRef[]> {
    invariant(
      fromNumber >= 0 && toNumber >= fromNumber,
      `a range of blocks is not empty: ${fromNumber} to ${toNumber}`,
    );
    const listed = await slotsOf(fromNumber, toNumber);
    const answers = await rpc.batch(listed.map((slot) => blockCall(slot, 'none', 'confirmed')));
    const headers = answers.map((answer, at) => readBlock(answer, listed[at] ?? 0));
    headers.slice(1).forEach(({ parentSlot }, at) => {
      const slot = listed[at] ?? 0;
      if (parentSlot > slot) throw historyMissing(slot, parentSlot);
    });
    const refs = headers.map(({ ref }) => ref);
    // A successor names its parent's slot, which was checked above.
    const [only, ...others] = headers;
    if (only && others.length === 0) await inItsSlot(only);
    if (!isLinked(refs)) throw rangeBroken('are not a chain: there was a reorg during the reading');
    return refs;
  }

  const rangeBroken = (what: string) =>
    transient('node_range_broken', `the blocks that ${host} answered ${what}; its chain is read again`);

  /** Nothing is read beyond a gap, because payments in it would be lost. */
  const historyMissing = (below: number, missing: number) =>
    transient(
      'node_block_missing',
      `${host} lost blocks between slots ${below} and ${missing} (a restart from a snapshot leaves such a gap): catch up from a node that has them`,
    );

  async function header(hash: string): Promise<BlockRef | null> {
    const slot = slots.get(hash);
    if (slot === undefined) return null;
    const { ref } = readBlock(await attemptBlock(slot, 'confirmed'), slot);
    return ref.hash === hash ? ref : null;
  }

  async function content(block: BlockRef, thorough: boolean): Promise<RawContent> {
    const { method, params } = blockCall(block.number, 'accounts', 'confirmed');
    const bytes = await rpc.raw(method, params).catch((error: unknown) => {
      throw error instanceof Fault ? blockFault(error, block.number) : error;
    });
    // The decoder checks the block again, strictly.
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    if (NO_RESULT.test(text.toString('latin1', 0, NO_RESULT_BYTES_MAX))) throw blockLost(block.number, 'null');
    if (!text.includes(`"${block.hash}"`)) throw otherBlock(block, { method, host });
    return { block, kind: thorough ? 'whole' : 'slices', bytes, context: { host } };
  }

  async function attest(block: Pick<BlockRef, 'hash' | 'number'>, txs: readonly string[]): Promise<Attestation> {
    const parts: string[][] = [];
    for (let at = 0; at < txs.length; at += SIGNATURES_MAX) parts.push(txs.slice(at, at + SIGNATURES_MAX));
    const [answer, ...statuses] = await Promise.all([
      attemptBlock(block.number, 'confirmed'),
      ...parts.map(readStatuses),
    ]);
    if (isAbsent(answer) || (!answer.ok && isSkippedOrMissing(answer.error))) return 'unsure';
    if (readBlock(answer, block.number).ref.hash !== block.hash) return 'gone';
    const found = statuses.flat();
    const known = found.filter((status) => status !== null);
    if (!known.every((status) => status.slot === block.number && status.err === null)) return 'gone';
    if (!known.every((status) => isConfirmed(status.confirmationStatus))) return 'unsure';
    // A node's index of transactions may lag behind its newest blocks. The block itself decides.
    const unknown = txs.filter((_, at) => found[at] === null);
    return unknown.length === 0 ? 'holds' : attestByBlock(block, unknown);
  }

  async function attestByBlock(block: Pick<BlockRef, 'hash' | 'number'>, txs: readonly string[]): Promise<Attestation> {
    const { method, params } = blockCall(block.number, 'accounts', 'confirmed');
    const answer = await rpc.attempt(method, params);
    if (isAbsent(answer) || (!answer.ok && isSkippedOrMissing(answer.error))) return 'unsure';
    if (readBlock(answer, block.number).ref.hash !== block.hash) return 'gone';
    const succeeded = succeededIn(answer.ok && answer.result, { method, host });
    return txs.every((tx) => succeeded.has(tx)) ? 'holds' : 'gone';
  }

  async function readStatuses(signatures: readonly string[]) {
    const method = 'getSignatureStatuses';
    const answer = await rpc.call(method, [signatures, { searchTransactionHistory: true }]);
    const { value } = (answer ?? {}) as { value?: unknown };
    if (!Array.isArray(value) || value.length !== signatures.length) {
      throw nonsense({ method, host }, `answered with something that is not ${signatures.length} statuses`);
    }
    return value as (Readonly<{ slot?: unknown; err?: unknown; confirmationStatus?: unknown }> | null)[];
  }

  async function whyBehind(): Promise<string | null> {
    const answer = await rpc.attempt('getHealth', []);
    return answer.ok || !isBehind(answer.error) ? null : answer.error.message;
  }

  function health(): ReturnType<Node['health']> {
    const asked = http.health();
    if (!push) return asked;
    const pushed = push.health();
    return {
      connected: asked.connected && pushed.connected,
      heardAtMs: Math.max(asked.heardAtMs, pushed.heardAtMs),
      connections: asked.connections + pushed.connections,
    };
  }

  return {
    identity,
    head,
    finalized,
    range,
    header,
    content,
    attest,
    holdings: (keys) => askHoldings(rpc, host, options.tokens, keys),
    whyBehind,
    onChange: (listener) => push?.onChange(listener),
    health,
    async close() {
      await Promise.all([http.close(), push?.close()]);
    },
  };
}

/**
 * Returns whether two thirds of the stake have voted. `processed`, or no status, is the word of one node and never
 * enough to credit.
 */
const isConfirmed = (status: unknown): boolean => status === 'confirmed' || status === 'finalized';
