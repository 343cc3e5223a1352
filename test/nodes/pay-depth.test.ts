/**
 * Ways of paying on `geth --dev`, credited at a depth.
 */
import { startDevGeth } from './dev-geth.ts';
import { openNodeShop } from './node-shop.ts';
import { waysOfPayingConform } from './ways-of-paying.ts';

waysOfPayingConform(await openNodeShop({ node: await startDevGeth(), limits: { pool_target: 300 } }));
