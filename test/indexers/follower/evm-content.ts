/**
 * A block of a simulated chain as the raw answers that contain its transfers, without a server in between.
 */
import type { RawContent } from '../../../src/chains/chain.ts';
import { loggedEntries, type WorldBlock } from '../../../src/sandbox/block-tree.ts';
import { dialects } from '../../../src/sandbox/evm-dialect.ts';
import { hex, renderHeader, renderLog, renderReceipts } from '../../../src/sandbox/evm-render.ts';

/** `logs`: the answer to `eth_getLogs` by block hash. `receipts`: the answer to `eth_getBlockReceipts`. */
export function evmContent(block: WorldBlock, kind: 'logs' | 'receipts'): RawContent {
  const result =
    kind === 'logs'
      ? loggedEntries(block).map((logged) => renderLog(logged, block))
      : renderReceipts(block, dialects.ethereum);
  return {
    block: { hash: hex(block.hash), parent: hex(block.parent), number: block.number, timeS: block.timeS },
    kind,
    bytes: Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, result })),
    context: {
      host: 'test',
      bloom: renderHeader(block, dialects.ethereum).logsBloom,
      txCount: block.transactions.length,
    },
  };
}
