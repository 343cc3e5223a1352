/**
 * A block's two raw answers, as a node's client passes them to the decoder, without a server in between.
 */
import type { RawContent } from '../../../src/chains/chain.ts';
import type { BlockRef } from '../../../src/core/block.ts';

/** @param kind `light` on the first try, `thorough` on the second */
export function tronContent(
  block: BlockRef,
  blockText: string,
  infosText: string,
  kind: 'light' | 'thorough' = 'light',
): RawContent {
  const [first, second] = [Buffer.from(blockText), Buffer.from(infosText)];
  // There are other bytes before, between and behind them, as in a message of the bridge.
  const bytes = new Uint8Array(Buffer.concat([Buffer.from('{"'), first, Buffer.from(','), second, Buffer.from(']}')]));
  const infosFrom = 2 + first.length + 1;
  return {
    block,
    kind,
    bytes,
    context: { host: 'test', blockFrom: 2, blockTo: 2 + first.length, infosFrom, infosTo: infosFrom + second.length },
  };
}
