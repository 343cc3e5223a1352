/**
 * Ways of paying on a geth with a consensus client, credited when final; the burst comes in one block.
 */
import { startDrivenGeth } from './driven-geth.ts';
import { openNodeShop } from './node-shop.ts';
import { waysOfPayingConform } from './ways-of-paying.ts';

const node = await startDrivenGeth({ chainId: 1, finalDepth: 3 });
const settings = { confirmations: { finality: 'finalized', usual: 3, blocks: null, tiers: null } };
const bench = await openNodeShop({ node, settings, limits: { pool_target: 300 } });
await node.mineEvery(1);
waysOfPayingConform(bench, async (send) => {
  await node.mineEvery(0);
  await send();
  await node.mine();
  await node.mineEvery(1);
});
