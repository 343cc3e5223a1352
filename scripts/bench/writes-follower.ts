/**
 * A separate process: a follower that saves block after block without a pause, as when it catches up with a fast node.
 * Arguments: the database's file, the network's name, the address that each block pays. Sends `ready` once it writes.
 * @module
 */
import { systemClock } from '../../src/lib/clock.ts';
import { ingestedChain } from '../../test/support/ingested-chain.ts';
import { connectTo } from '../../test/support/temp-database.ts';
import { testNetwork } from '../../test/support/test-network.ts';

/** Payments in each block: a step takes some ten milliseconds. */
const BLOCK_TRANSFERS = 100;

const [file = '', name = '', to = ''] = process.argv.slice(2);
const database = connectTo(file, 60_000);
const network = testNetwork({ name });
const [token] = network.tokens;
const coin = { to, currency: token?.symbol ?? 'USDT', units: 10n ** BigInt(token?.decimals ?? 0) };
const coins = Array.from({ length: BLOCK_TRANSFERS }, () => coin);
const chain = ingestedChain(() => database, systemClock, network);
await chain.mine();
process.send?.('ready');
let isWanted = true;
process.on('disconnect', () => {
  isWanted = false;
});
while (isWanted) {
  const block = await chain.mine(coins);
  await chain.confirm(block);
  await chain.finalize(block);
  // Messages arrive between two turns of the event loop.
  await new Promise((resolve) => setImmediate(resolve));
}
database.close();
