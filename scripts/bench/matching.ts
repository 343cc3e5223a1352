/**
 * Compares decoding in line and in worker threads, by the size of a block's answer.
 */
import { availableParallelism } from 'node:os';
import { createAddressTable } from '../../indexers/follower/address-table.ts';
import { createMatcher, INLINE_BYTES_MAX, type Matcher } from '../../indexers/follower/matcher.ts';
import type { RawContent } from '../../src/chains/chain.ts';
import { chains } from '../../src/chains/index.ts';
import { addressKeyOf } from '../../test/support/address-keys.ts';
import { evmContent } from '../../test/support/evm-content.ts';
import { sandboxTokens, startSimulatedNode } from '../../test/support/simulated-node.ts';
import { progress, type Row, round, show } from './frame.ts';

const TRANSFERS_PER_BLOCK = [10, 50, 100, 200, 400, 800, 3200];
const BYTES_PER_SIZE = 48 * 1024 * 1024;
const BLOCKS_MAX = 1500;
const WATCHED = 100_000;

const chain = chains.evm;
const threadsMax = Math.max(1, availableParallelism() - 1);

/** Measures both kinds of decoding for blocks of several sizes. */
export async function benchMatching({ isShort }: Readonly<{ isShort: boolean }>): Promise<Row[]> {
  const blocksMax = isShort ? 50 : BLOCKS_MAX;
  const table = createAddressTable(chain.address.keyBytes);
  for (let n = 0; n < WATCHED; n++) table.add(addressKeyOf(n, chain.address.keyBytes));
  const options = { chain, tokens: sandboxTokens, table, threadsMax };
  const inline = await createMatcher({ ...options, inlineBytesMax: Number.POSITIVE_INFINITY });
  const threads = await createMatcher({ ...options, inlineBytesMax: 0 });
  const node = await startSimulatedNode({ family: 'evm', seed: 'bench' });
  const bar = progress('matching', TRANSFERS_PER_BLOCK.length);
  const rows: Row[] = [];
  for (const transfers of TRANSFERS_PER_BLOCK) {
    node.pay(addressKeyOf(transfers, chain.address.keyBytes), 1n);
    const content = evmContent(node.world.mine(transfers - 1), 'logs');
    const blocks = Math.min(blocksMax, Math.ceil(BYTES_PER_SIZE / content.bytes.byteLength));
    await matchAll(inline, content, Math.min(50, blocks));
    await matchAll(threads, content, Math.min(50, blocks));
    const here = await matchAll(inline, content, blocks);
    const there = await matchAll(threads, content, blocks);
    rows.push({
      transfers,
      KiB: round(content.bytes.byteLength / 1024, 0),
      'in-line ms/block': round(here.wallMs / blocks, 3),
      'threads ms/block': round(there.wallMs / blocks, 3),
      'threads, event loop ms/block': round(there.busyMs / blocks, 3),
      'event loop saved': `${round(100 * (1 - there.busyMs / here.busyMs), 0)} %`,
    });
    bar.step(rows.length);
  }
  bar.end();
  await Promise.all([inline.close(), threads.close(), node.close()]);
  show(`Matching with ${threadsMax} thread(s); in-line up to ${INLINE_BYTES_MAX / 1024} KiB`, rows);
  return rows;
}

/** Matches the block many times, eight at once like the follower. `busyMs` is the event loop's time. */
async function matchAll(matcher: Matcher, content: RawContent, blocks: number) {
  const contents = Array.from({ length: blocks }, () => ({ ...content, bytes: new Uint8Array(content.bytes) }));
  const before = performance.eventLoopUtilization();
  const startedAtMs = performance.now();
  const lane = async () => {
    for (let next = contents.pop(); next; next = contents.pop()) await matcher.match(next);
  };
  await Promise.all(Array.from({ length: 8 }, lane));
  return {
    wallMs: performance.now() - startedAtMs,
    busyMs: performance.eventLoopUtilization(before).active,
  };
}
