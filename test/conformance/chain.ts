/**
 * Duties of every chain family, whatever its node: one suite for the interface `src/chains/chain.ts`.
 *
 * A family joins by a `ChainBench`: a small world of its own that can be paid in, mined and reorganised, behind a real
 * node (or one that speaks the real wire). See `test/chains/evm/anvil-bench.ts`.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Chain, Node, NodeOptions } from '../../src/chains/chain.ts';
import type { BlockRef } from '../../src/core/block.ts';
import { Fault } from '../../src/core/fault.ts';
import type { ChainTransfer, Token } from '../../src/core/transfer.ts';
import { column, has, have } from '../support/fields.ts';
import { faultOf } from '../support/refusal.ts';
import { until } from '../support/until.ts';

/**
 * - `direct`: the payer calls the token. `contract`: another contract transfers the payer's tokens, all outputs in one
 *   transaction.
 * - `failed`: mined as a failure. `lookalike`: another contract claims the transfer.
 * - `fee`: the token keeps 0.2 % and reports the net amount.
 * - `delegated`: an account that the payer approved before transfers the payer's tokens.
 */
export type PaymentKind = 'direct' | 'contract' | 'failed' | 'lookalike' | 'fee' | 'delegated';

/** Keys are address keys (lower-case hex); `units` are the token's base units and may be zero. */
export type Output = Readonly<{ token: Token; to: string; units: bigint }>;

export type ChainBench = Readonly<{
  chain: Chain;
  /** Where the node listens; the suite runs over each. `pushes` is false if there is no push. */
  urls: readonly Readonly<{ url: string; pushes: boolean }>[];
  /** Several transfers to one address in one transaction count as one. */
  addsUp?: true;
  chainId: string;
  /** USDT first and USDC second, with different decimals. */
  tokens: readonly [Token, Token];
  /** Whose tokens `pay` transfers. */
  payer: string;
  /** Returns a key without payments so far. */
  freshKey(): string;
  /**
   * Sends a payment, included in the next block that is mined, and returns its transaction id. Several outputs only
   * by `contract`, and in one token.
   */
  pay(kind: PaymentKind, outputs: readonly Output[]): Promise<string>;
  mine(blocks?: number): Promise<void>;
  /**
   * Replaces the newest blocks by at least as many others; their transactions are gone (`none`) or in the new
   * ones (`all`).
   */
  reorg(depth: number, keep: 'none' | 'all'): Promise<void>;
  /** Makes the node unreachable, and reachable again with the same chain. Absent where that cannot be done. */
  stop?(): Promise<void>;
  start?(): Promise<void>;
  close(): Promise<void>;
}>;

const limits = {
  requestTimeoutMs: 60_000,
  responseBytesMax: 8_000_000,
  idleMsMax: 60_000,
  concurrencyMax: 4,
} satisfies Partial<NodeOptions>;

/** Returns the fault that a node has with a token, beside its chain's id or instead of it. */
export const tokenFaultOf = (node: Pick<Node, 'identity'>): Promise<Fault> =>
  faultOf(
    node.identity().then(({ decimals }) => {
      for (const shown of decimals.values()) if (shown instanceof Fault) throw shown;
    }),
  );

/** Returns the sum of each key's units, in the order in which keys first appear. */
function sums(units: readonly (readonly [string, bigint])[]): Map<string, bigint> {
  const sum = new Map<string, bigint>();
  for (const [key, value] of units) sum.set(key, (sum.get(key) ?? 0n) + value);
  return sum;
}

/** Returns an unused hash or id of the same form: its last 20 characters are rotated by one. */
const otherThan = (text: string): string => text.slice(0, -20) + text.slice(-19) + text.slice(-20, -19);

/** Registers the suite; the calling file needs nothing else. */
export function chainConformance(name: string, makeBench: () => Promise<ChainBench>): void {
  const test = suite(name);
  let bench: ChainBench;

  test.before(async () => {
    bench = await makeBench();
  });
  test.after(() => bench.close());

  /** Registers one test for each way to reach the node. */
  const each = (title: string, run: (node: Node, pushes: boolean) => Promise<void>): void => {
    test(title, async () => {
      for (const { pushes, ...place } of bench.urls) {
        const node = await open(place);
        try {
          await run(node, pushes);
        } finally {
          await node.close();
        }
      }
    });
  };

  async function open(options: Partial<NodeOptions> & { url: string }): Promise<Node> {
    const { openNode } = await bench.chain.node();
    return openNode({ ...limits, tokens: bench.tokens, ...options });
  }

  /** Returns the transfers to `keys`, and from wallets of our `own`, in one block, read both ways, which must agree. */
  async function transfersIn(
    node: Node,
    block: BlockRef,
    keys: readonly string[],
    own: readonly string[] = [],
  ): Promise<ChainTransfer[]> {
    const wire = await bench.chain.wire();
    const read = async (isThorough: boolean) =>
      wire.decode(await node.content(block, isThorough), bench.tokens, (key) => keys.includes(key), new Set(own));
    const thorough = await read(true);
    try {
      assert.equal(await read(false), thorough);
    } catch (error) {
      // The small answer may be doubtful, but never different.
      if (!(error instanceof Fault) || error.code !== 'node_content_doubtful') throw error;
    }
    return thorough;
  }

  /** Pays, mines one block and reads it. */
  async function payAndRead(node: Node, kind: PaymentKind, outputs: readonly Output[]) {
    const tx = await bench.pay(kind, outputs);
    await bench.mine();
    const block = await node.head();
    const keys = outputs.map((output) => output.to);
    return { tx, block, transfers: await transfersIn(node, block, keys) };
  }

  /** Returns the block above `below` that contains `tx`, and its transfer to `key`. */
  async function find(node: Node, below: number, tx: string, key: string) {
    for (const block of await node.range(below + 1, (await node.head()).number)) {
      const transfer = (await transfersIn(node, block, [key])).find((found) => found.tx === tx);
      if (transfer) return { block, transfer };
    }
    return null;
  }

  each('reports its chain, and the decimals of each token', async (node) => {
    const { chainId, decimals } = await node.identity();
    assert.is(chainId, bench.chainId);
    assert.equal(
      [...decimals],
      bench.tokens.map((token) => [token.address, token.decimals]),
    );
  });

  test('a token that is not there is reported beside the chain, which may be another one', async () => {
    const [token] = bench.tokens;
    const nowhere = { ...token, address: bench.chain.address.format(bench.freshKey()) };
    for (const { pushes: _, ...place } of bench.urls) {
      const node = await open({ ...place, tokens: [nowhere] });
      const fault = await tokenFaultOf(node);
      const { chainId, stateNumber } = await node.identity();
      assert.is(chainId, bench.chainId);
      // A client that names the state lets the follower decide whether that state is an old one.
      const isClient = stateNumber === undefined;
      const code = isClient ? 'token_not_a_contract' : 'token_missing';
      has(fault, { kind: isClient ? 'permanent' : 'transient', code });
      assert.match(fault.message, nowhere.address);
      await node.close();
    }
  });

  each('the head rises with each block, and each block names its parent', async (node) => {
    const before = await node.head();
    await bench.mine();
    const after = await node.head();
    assert.ok(after.number > before.number);
    assert.is(after.parent, before.hash);
    assert.ok(after.timeS >= before.timeS && after.timeS < 1e11, 'seconds, not milliseconds');
  });

  each('a range is the linked chain, both ends included', async (node) => {
    const before = await node.head();
    await bench.mine(40);
    const head = await node.head();
    const blocks = await node.range(before.number + 1, head.number);
    assert.is(blocks.length, 40);
    assert.is(blocks[0]?.parent, before.hash);
    assert.equal(blocks.at(-1), head);
    blocks.slice(1).forEach((block, at) => {
      assert.is(block.parent, blocks[at]?.hash);
    });
    assert.equal(await node.range(head.number, head.number), [head]);
  });

  each('a range that the node does not have is a transient fault', async (node) => {
    const { number } = await node.head();
    for (const [from, to] of [
      [number, number + 1],
      [number + 5, number + 6],
    ] as const) {
      has(await faultOf(node.range(from, to)), { kind: 'transient', code: 'node_range_broken' });
    }
  });

  each('a header is found by its hash, and an unknown one is null', async (node) => {
    const head = await node.head();
    assert.equal(await node.header(head.hash), head);
    assert.equal((await node.header(head.parent))?.hash, head.parent);
    assert.is(await node.header(otherThan(head.hash)), null);
  });

  each('a payment in each token is found with its exact units', async (node) => {
    // Above 2^64 and with a low digit that a floating-point number would lose.
    for (const [at, units] of [1n, 123_456_789n, 36_893_488_147_419_103_233n].entries()) {
      for (const token of bench.tokens) {
        const to = bench.freshKey();
        if (units > 10n ** BigInt(token.decimals + 8)) continue;
        const { tx, transfers } = await payAndRead(node, 'direct', [{ token, to, units }]);
        assert.is(transfers.length, 1, `payment ${at} in ${token.symbol}`);
        const [found] = transfers;
        assert.equal(
          { ...found, index: 0 },
          { tx, index: 0, currency: token.symbol, from: bench.payer, to, units },
          `payment ${at} in ${token.symbol}`,
        );
      }
    }
  });

  each('a transfer by another account on behalf of the payer is the payer’s payment', async (node) => {
    for (const token of bench.tokens) {
      const to = bench.freshKey();
      const { tx, transfers } = await payAndRead(node, 'delegated', [{ token, to, units: 77n }]);
      assert.equal(
        transfers.map((found) => ({ ...found, index: 0 })),
        [{ tx, index: 0, currency: token.symbol, from: bench.payer, to, units: 77n }],
      );
    }
  });

  each('several transfers in one transaction are each found, in order', async (node) => {
    const [usdt] = bench.tokens;
    const [one, other] = [bench.freshKey(), bench.freshKey()];
    const outputs = [
      { token: usdt, to: one, units: 3n },
      { token: usdt, to: other, units: 4n },
      { token: usdt, to: one, units: 5n },
    ];
    const { tx, transfers } = await payAndRead(node, 'contract', outputs);
    const expected = outputs.map(({ to, units }) => [to, units] as const);
    assert.equal(
      transfers.map(({ to, units }) => [to, units]),
      bench.addsUp ? [...sums(expected)] : expected,
    );
    assert.ok(transfers.every((transfer) => transfer.tx === tx));
    transfers.slice(1).forEach((transfer, at) => {
      assert.ok(transfer.index > (transfers[at]?.index ?? 0), 'indexes rise');
    });
  });

  each('several transactions in one block are distinguished', async (node) => {
    const to = bench.freshKey();
    const [usdt, usdc] = bench.tokens;
    const txs = [
      await bench.pay('direct', [{ token: usdt, to, units: 11n }]),
      await bench.pay('direct', [{ token: usdc, to, units: 12n }]),
      await bench.pay('direct', [{ token: usdt, to, units: 13n }]),
    ];
    await bench.mine();
    const found = await transfersIn(node, await node.head(), [to]);
    assert.equal(found.map(({ tx }) => tx).sort(), [...txs].sort());
    assert.is(new Set(found.map(({ index }) => index)).size, 3);
  });

  each('only watched addresses and configured tokens are found', async (node) => {
    const [usdt, usdc] = bench.tokens;
    const to = bench.freshKey();
    await bench.pay('direct', [{ token: usdt, to, units: 7n }]);
    const { block } = await payAndRead(node, 'direct', [{ token: usdc, to, units: 8n }]);
    assert.equal(await transfersIn(node, block, [bench.freshKey()]), []);
    const wire = await bench.chain.wire();
    const found = wire.decode(await node.content(block, true), [usdc], (key) => key === to);
    have(found, [{ currency: 'USDC', units: 8n }]);
  });

  each('if the token keeps a fee, the net amount is the payment', async (node) => {
    const [usdt] = bench.tokens;
    const to = bench.freshKey();
    const { transfers } = await payAndRead(node, 'fee', [{ token: usdt, to, units: 1_000_000n }]);
    assert.equal(column(transfers, 'units'), [998_000n]);
  });

  each('failed payments, look-alike tokens and zero amounts are not payments', async (node) => {
    const [token] = bench.tokens;
    for (const [kind, units] of [
      ['failed', 5n],
      ['lookalike', 5n],
      ['direct', 0n],
      ['contract', 0n],
    ] as const) {
      const { transfers } = await payAndRead(node, kind, [{ token, to: bench.freshKey(), units }]);
      assert.equal(transfers, [], kind);
    }
  });

  each('transfers out of our own wallets are found, to any payee; a transfer of nothing is not', async (node) => {
    const [token] = bench.tokens;
    const to = bench.freshKey();
    const tx = await bench.pay('direct', [{ token, to, units: 31n }]);
    await bench.pay('direct', [{ token, to: bench.freshKey(), units: 0n }]);
    await bench.mine();
    const block = await node.head();
    const left = { tx, index: 0, currency: token.symbol, from: bench.payer, to, units: 31n, isOutgoing: true };
    const ofPayer = await transfersIn(node, block, [], [bench.payer]);
    assert.equal(
      ofPayer.map((found) => ({ ...found, index: 0 })),
      [left],
    );
    const both = await transfersIn(node, block, [to], [bench.payer]);
    assert.equal(both.map(({ isOutgoing = false, units }) => `${isOutgoing} ${units}`).sort(), ['false 31', 'true 31']);
    assert.equal(await transfersIn(node, block, [], [to]), [], 'nothing left the wallet that got it');
  });

  each('a block without transfers is empty, read both ways', async (node) => {
    await bench.mine();
    assert.equal(await transfersIn(node, await node.head(), [bench.payer]), []);
  });

  each('content can be transferred to a thread with its buffer', async (node) => {
    const [token] = bench.tokens;
    const to = bench.freshKey();
    const { block, transfers } = await payAndRead(node, 'direct', [{ token, to, units: 9n }]);
    const wire = await bench.chain.wire();
    for (const thorough of [false, true]) {
      const content = await node.content(block, thorough);
      assert.is(content.bytes.byteLength, content.bytes.buffer.byteLength, 'the bytes own their buffer');
      const moved = structuredClone(content, { transfer: [content.bytes.buffer as ArrayBuffer] });
      assert.equal(
        wire.decode(moved, bench.tokens, (key) => key === to),
        transfers,
      );
    }
  });

  each('content of a block that the node does not have is a transient fault, never an empty block', async (node) => {
    const head = await node.head();
    const nowhere = { ...head, hash: otherThan(head.hash) };
    for (const thorough of [false, true]) {
      assert.is((await faultOf(node.content(nowhere, thorough))).kind, 'transient');
    }
  });

  each('attests what is on the chain, and nothing else', async (node) => {
    const [token] = bench.tokens;
    const failed = await bench.pay('failed', [{ token, to: bench.freshKey(), units: 1n }]);
    const { tx, block } = await payAndRead(node, 'direct', [{ token, to: bench.freshKey(), units: 1n }]);
    const { tx: otherTx } = await payAndRead(node, 'direct', [{ token, to: bench.freshKey(), units: 2n }]);
    assert.is(await node.attest(block, [tx]), 'holds');
    assert.is(await node.attest(block, []), 'holds');
    assert.is(await node.attest(block, [tx, failed]), 'gone', 'a failed transaction');
    assert.is(await node.attest(block, [otherTx]), 'gone', "another block's transaction");
    assert.is(await node.attest(block, [otherThan(tx)]), 'gone', 'an unknown transaction');
    assert.is(
      await node.attest({ number: block.number, hash: block.parent }, []),
      'gone',
      'another hash at that height',
    );
    assert.is(await node.attest({ number: block.number + 1_000, hash: block.hash }, []), 'unsure', 'above the head');
  });

  test('a transaction id is accepted as people write it, and nothing else is', async () => {
    const [token] = bench.tokens;
    const tx = await bench.pay('direct', [{ token, to: bench.freshKey(), units: 1n }]);
    const { transactionId } = bench.chain;
    assert.is(transactionId(tx), tx, 'canonical text is its own');
    for (const text of ['', tx.slice(4), `${tx}0`, ` ${tx}`, bench.chain.address.format(bench.freshKey()), 'order-1']) {
      assert.is(transactionId(text), null, text);
    }
  });

  each('money that a reorg took away is gone', async (node) => {
    const [token] = bench.tokens;
    const to = bench.freshKey();
    const { tx, block } = await payAndRead(node, 'direct', [{ token, to, units: 21n }]);
    await bench.mine();
    await bench.reorg(2, 'none');
    const [replacement] = await node.range(block.number, block.number);
    assert.is.not(replacement?.hash, block.hash);
    assert.is(replacement?.parent, block.parent, 'the fork starts where the reorg does');
    assert.is(await find(node, block.number - 1, tx, to), null);
    assert.is(await node.attest(block, [tx]), 'gone');
  });

  each('money that a reorg moved is in another block', async (node) => {
    const [token] = bench.tokens;
    const to = bench.freshKey();
    const { tx, block } = await payAndRead(node, 'direct', [{ token, to, units: 22n }]);
    await bench.mine();
    await bench.reorg(2, 'all');
    const found = await find(node, block.number - 1, tx, to);
    assert.is.not(found?.block.hash, block.hash);
    assert.is(found?.transfer.units, 22n);
    assert.is(await node.attest(block, [tx]), 'gone');
    assert.is(found && (await node.attest(found.block, [tx])), 'holds');
  });

  each('the final block is below the head and never goes back; what addresses hold is of that state', async (node) => {
    const [own, other] = [bench.freshKey(), bench.freshKey()];
    const [usdt, usdc] = bench.tokens;
    await bench.pay('direct', [{ token: usdt, to: own, units: 5n }]);
    await bench.pay('direct', [{ token: usdc, to: own, units: 7n }]);
    await bench.mine(80);
    const before = await node.finalized();
    await bench.mine(80);
    const [after, head] = [await node.finalized(), await node.head()];
    assert.ok(before && after && after.number > before.number && after.number <= head.number);
    assert.equal(await node.range(after.number, after.number), [after]);
    const safe = await node.safe?.();
    assert.ok(safe === undefined || (safe && safe.number >= after.number), 'a final block is safe');
    // Not final yet.
    await bench.pay('direct', [{ token: usdt, to: own, units: 1n }]);
    await bench.mine();
    const { from, to, units } = await node.holdings([own, other], after);
    assert.ok(from >= after.number && from <= to && to <= head.number);
    assert.equal(units, [
      { USDT: 5n, USDC: 7n },
      { USDT: 0n, USDC: 0n },
    ]);
  });

  each('handles many concurrent requests within its limit', async (node) => {
    await bench.mine(20);
    const { number } = await node.head();
    const blocks = await node.range(Math.max(0, number - 19), number);
    const headers = await Promise.all(blocks.flatMap((block) => [node.header(block.hash), node.header(block.hash)]));
    assert.equal(
      headers,
      blocks.flatMap((block) => [block, block]),
    );
  });

  each('notifies of each new head, where there is a push', async (node, pushes) => {
    let notified = 0;
    node.onChange(() => {
      notified += 1;
    });
    await node.head();
    if (!pushes) return;
    await until('the subscription is granted', () => node.health().connected);
    for (let round = 0; round < 3; round++) {
      const before = notified;
      await bench.mine();
      await until('the listener is called', () => notified > before);
    }
    assert.ok(node.health().heardAtMs > Date.now() - 60_000);
  });

  each(
    'while the node is unreachable calls fail with a named fault; then they work again, and the listener is called',
    async (node, pushes) => {
      if (!bench.stop || !bench.start) return;
      let notified = 0;
      node.onChange(() => {
        notified += 1;
      });
      const before = await node.head();
      if (pushes) await until('the subscription is granted', () => node.health().connected);
      const { connections } = node.health();
      await bench.stop();
      has(await faultOf(node.head()), { kind: 'transient', code: 'node_unreachable' });
      assert.is(node.health().connected, false);
      const notifiedBefore = notified;
      await bench.start();
      await until('the node answers again', async () => {
        try {
          return (await node.head()).number >= before.number;
        } catch {
          return false;
        }
      });
      if (pushes) await until('the listener is called', () => notified > notifiedBefore);
      assert.ok(node.health().connections > connections, 'a new connection is counted');
      assert.equal(await node.header(before.hash), before, 'the chain is the same');
    },
  );

  each('after close, calls fail with a fault', async (node) => {
    await node.head();
    await node.close();
    assert.is((await faultOf(node.head())).kind, 'transient');
  });

  test('an address is read back from what is shown, and junk is not an address', () => {
    const { address } = bench.chain;
    const key = bench.freshKey();
    assert.is(key.length, address.keyBytes * 2);
    assert.is(address.parse(address.format(key)), key);
    for (const junk of ['', ' ', '0x', key.slice(2), `${address.format(key)}0`, 'cs_01', '💶']) {
      assert.is(address.parse(junk), null, junk);
    }
  });

  test.run();
}
