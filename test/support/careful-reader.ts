/**
 * Reads a simulated chain through a node with every kind of temporary fault, and compares what was accepted with the
 * truth.
 */
import { setTimeout as wait } from 'node:timers/promises';
import * as assert from 'uvu/assert';
import type { Node, Wire } from '../../src/chains/chain.ts';
import { chains } from '../../src/chains/index.ts';
import type { BlockRef } from '../../src/core/block.ts';
import { Fault } from '../../src/core/fault.ts';
import type { ChainTransfer, Token } from '../../src/core/transfer.ts';
import { tokenKey } from '../../src/sandbox/node-server.ts';
import { paymentKinds } from '../../src/sandbox/transaction.ts';
import { type FaultKind, faultKinds } from '../simulated/faults.ts';
import { accountKeyOf, type SimulatedNode, writtenBy } from './simulated-node.ts';

const BLOCKS = 45;
const TRIES_MAX = 3000;
const READINGS_MAX = 20;
/** Faults that cost a time-out or a new connection are rarer, to keep the test short. */
const costly: readonly FaultKind[] = ['hang', 'drop', 'half_open'];
/** A node of another chain is rejected at start; it does not recover. */
const healing = faultKinds.filter((kind) => kind !== 'wrong_chain' && kind !== 'wrong_decimals');
const rates = Object.fromEntries(healing.map((kind) => [kind, costly.includes(kind) ? 0.015 : 0.08]));

export type Readable = Readonly<{ sandbox: SimulatedNode; node: Node; wire: Wire; tokens: readonly Token[] }>;

const payeesOf = ({ sandbox }: Readable): string[] =>
  ['one', 'two', 'three'].map((name) => accountKeyOf(sandbox.family, name));

function payInEachBlock(readable: Readable): void {
  const { sandbox, tokens } = readable;
  const [usdt, usdc] = tokens.map((token) => tokenKey(chains[sandbox.family].address, token));
  for (let block = 0; block < BLOCKS; block++) {
    for (const [at, to] of payeesOf(readable).entries()) {
      const kind = paymentKinds[(block + at) % paymentKinds.length] ?? 'direct';
      // Some blocks stay empty, some tokens unused.
      if (block % 4 > at) sandbox.pay(to, BigInt(1 + block * at), kind, at === 1 ? usdc : usdt);
    }
    sandbox.world.mine(block % 3);
  }
}

/** Repeats until it works; only transient faults may occur before. */
async function insist<T>(work: () => Promise<T | null>): Promise<T> {
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    try {
      const done = await work();
      if (done !== null) return done;
    } catch (error) {
      if (!(error instanceof Fault) || error.kind !== 'transient') throw error;
      // While it reconnects, calls fail at once.
      await wait(10);
    }
  }
  throw new Error(`no success in ${TRIES_MAX} tries`);
}

/** Reads one block as a careful reader does: linked to the one before, the small answer first. */
async function readBlock(readable: Readable, below: BlockRef) {
  const { node, wire, tokens } = readable;
  const payees = new Set(payeesOf(readable));
  let thorough = false;
  return insist(async () => {
    const [block] = await node.range(below.number + 1, below.number + 1);
    if (!block || block.parent !== below.hash) return null;
    try {
      const content = await node.content(block, thorough);
      return { block, transfers: wire.decode(content, tokens, (key) => payees.has(key)) };
    } catch (error) {
      thorough = error instanceof Fault && error.code === 'node_content_doubtful';
      throw error;
    }
  });
}

/** Reads every block above one, in order. */
async function readAll(readable: Readable, start: BlockRef) {
  const found: (readonly [block: string, transfer: ChainTransfer])[] = [];
  for (let below = start; below.number < readable.sandbox.world.tip().number; ) {
    const { block, transfers } = await readBlock(readable, below);
    found.push(...transfers.map((transfer) => [block.hash, transfer] as const));
    below = block;
  }
  return found;
}

/**
 * Pays in many blocks, then reads them all while faults strike: exactly the true transfers are found.
 * @param struck kinds of fault that must have occurred, or the test proves little
 */
export async function readThroughFaults(readable: Readable, struck: readonly FaultKind[]): Promise<void> {
  const { sandbox, node } = readable;
  const { world, faults, family } = sandbox;
  const written = writtenBy[family];
  const payees = payeesOf(readable);
  // Other families count indexes in a block by rules of their own.
  const hasPlace = family === 'evm';
  payInEachBlock(readable);
  const start = await insist(() => node.range(0, 0).then(([block]) => block ?? null));
  faults.set({ rates });
  const found = await readAll(readable, start);
  const truth = world.transfers().filter(({ to }) => payees.includes(to));
  assert.ok(truth.length > 30);
  assert.equal(
    found.map(([block, { tx, index, from, to, units }]) => [block, tx, hasPlace && index, from, to, units]),
    truth.map((one) => [
      written.hash(one.block.hash),
      written.transaction(one.transactionId),
      hasPlace && one.index,
      one.from,
      one.to,
      one.units,
    ]),
  );
  assert.is(new Set(found.map(([block, { index }]) => `${block}/${index}`)).size, found.length, 'indexes are unique');
  // How many requests one reading takes depends on time-outs: read again until each kind has occurred.
  const missing = () => struck.filter((kind) => !faults.report().injected[kind]);
  for (let readings = 1; missing().length > 0; readings++) {
    assert.ok(readings < READINGS_MAX, `${missing().join(', ')} never injected`);
    assert.equal(await readAll(readable, start), found);
  }
}
