/** The real node client against a node that fails in every way that heals: whatever it accepts is the truth. */
import { setTimeout as wait } from 'node:timers/promises';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Node } from '../../src/chains/chain.ts';
import { openNode } from '../../src/chains/evm/node.ts';
import { evmWire } from '../../src/chains/evm/wire.ts';
import type { BlockRef } from '../../src/core/block.ts';
import { Fault } from '../../src/core/fault.ts';
import type { ChainTransfer } from '../../src/core/transfer.ts';
import { type FaultKind, faultKinds } from '../../src/sandbox/faults.ts';
import { paymentKinds } from '../../src/sandbox/transaction.ts';
import {
  accountKey,
  type SandboxNode,
  sandboxTokens,
  startSandboxNode,
  usdcKey,
  usdtKey,
} from '../support/sandbox-node.ts';

const BLOCKS = 60;
const TRIES_MAX = 3000;
const payees = new Set(['one', 'two', 'three'].map(accountKey));
/** Faults that cost a timeout or a new connection are rarer, for the test's own sake. */
const costly: readonly FaultKind[] = ['hang', 'drop', 'half_open'];
/** A node of another chain is stopped at start; it does not heal. */
const healing = faultKinds.filter((kind) => kind !== 'wrong_chain' && kind !== 'wrong_decimals');
const rates = Object.fromEntries(healing.map((kind) => [kind, costly.includes(kind) ? 0.015 : 0.08]));
const lies: readonly FaultKind[] = [
  'empty_content',
  'sibling_content',
  'unlinked',
  'unknown_block',
  'cut',
  'rpc_error',
];

function payInEachBlock(sandbox: SandboxNode): void {
  for (let block = 0; block < BLOCKS; block++) {
    for (const [at, payee] of [...payees].entries()) {
      const kind = paymentKinds[(block + at) % paymentKinds.length];
      // Some blocks stay empty, some tokens unused.
      if (block % 4 > at) sandbox.pay(payee, BigInt(1 + block * at), kind, at === 1 ? usdcKey : usdtKey);
    }
    sandbox.world.mine(block % 3);
  }
}

/** Repeats until it works; only transient faults may come before. */
async function insist<T>(work: () => Promise<T | null>): Promise<T> {
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    try {
      const done = await work();
      if (done !== null) return done;
    } catch (error) {
      if (!(error instanceof Fault) || error.kind !== 'transient') throw error;
      // While the connection is made again, calls fail at once.
      await wait(10);
    }
  }
  throw new Error(`it did not work in ${TRIES_MAX} tries`);
}

/** One block as a careful reader takes it: linked to the one before, light road first. */
async function readBlock(node: Node, below: BlockRef): Promise<{ block: BlockRef; transfers: ChainTransfer[] }> {
  const isWatched = (key: string) => payees.has(key);
  let thorough = false;
  return insist(async () => {
    const [block] = await node.range(below.number + 1, below.number + 1);
    if (!block || block.parent !== below.hash) return null;
    try {
      const content = await node.content(block, thorough);
      return { block, transfers: evmWire.decode(content, sandboxTokens, isWatched) };
    } catch (error) {
      thorough = error instanceof Fault && error.code === 'node_content_doubtful';
      throw error;
    }
  });
}

async function readThrough(sandbox: SandboxNode, node: Node): Promise<void> {
  payInEachBlock(sandbox);
  let below = await insist(() => node.range(0, 0).then(([block]) => block ?? null));
  sandbox.faults.set({ rates });
  const found: (readonly [block: string, transfer: ChainTransfer])[] = [];
  while (below.number < BLOCKS) {
    const { block, transfers } = await readBlock(node, below);
    found.push(...transfers.map((transfer) => [block.hash, transfer] as const));
    below = block;
  }
  const truth = sandbox.world.transfers().filter(({ to }) => payees.has(to));
  assert.ok(truth.length > 30);
  assert.equal(
    found.map(([block, { tx, index, from, to, units }]) => [block, tx, index, from, to, units]),
    truth.map((one) => [`0x${one.block.hash}`, `0x${one.transactionId}`, one.index, one.from, one.to, one.units]),
  );
  const { injected } = sandbox.faults.report();
  for (const kind of lies) assert.ok((injected[kind] ?? 0) > 0, `${kind} was injected`);
}

for (const road of ['wsUrl', 'httpUrl'] as const) {
  test(`through every fault, ${road} gives exactly the true transfers`, async () => {
    const sandbox = await startSandboxNode({ seed: `node test ${road}` });
    const node = openNode({
      url: sandbox[road],
      tokens: sandboxTokens,
      requestTimeoutMs: 250,
      responseBytesMax: 1_000_000,
      idleMsMax: 400,
      concurrencyMax: 4,
    });
    try {
      await readThrough(sandbox, node);
    } finally {
      await node.close();
      await sandbox.close();
    }
  });
}

test.run();
