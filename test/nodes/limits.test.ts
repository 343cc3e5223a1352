/**
 * A geth that takes small batches only, or gives short answers: Quayside adapts, and no fault is reported.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { startDrivenGeth } from './driven-geth.ts';
import { openNodeShop } from './node-shop.ts';

const CATCH_UP_BLOCKS = 200;

const limits = [
  ['--rpc.batch-request-limit', '5'],
  ['--rpc.batch-request-limit', '10'],
  ['--rpc.batch-response-max-size', '20000'],
] as const;

for (const limit of limits) {
  test(`with ${limit.join(' ')}, a network is started, followed, and caught up with`, async () => {
    const geth = await startDrivenGeth({ chainId: 1, options: limit });
    const bench = await openNodeShop({ node: geth });
    const { quayside, shop, pay, expectPaid } = bench;
    try {
      const session = await shop.newSession(1_000);
      await quayside.stop();
      await geth.mine(CATCH_UP_BLOCKS / 2);
      await pay(session, 1_000);
      await geth.mine(CATCH_UP_BLOCKS / 2);
      const before = quayside.output().length;
      await quayside.start();
      await expectPaid(session, ['10.00']);
      await bench.untilLevel();
      const faults =
        quayside
          .output()
          .slice(before)
          .match(/"code":"node_\w+"/g) ?? [];
      assert.equal(faults, []);
      assert.is(await bench.expectBooks(), 1);
      assert.equal(bench.alarms(), []);
    } finally {
      await bench.close();
    }
  });
}

test.run();
