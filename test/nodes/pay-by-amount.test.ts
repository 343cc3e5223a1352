/**
 * Tiers by amount on a real geth: a small payment counts by depth, a larger one once it is safe or final, and the
 * largest once a second node agrees.
 */
import { test } from 'uvu';
import { startDrivenGeth } from './driven-geth.ts';
import { openNodeShop } from './node-shop.ts';

const geth = await startDrivenGeth({ chainId: 1, finalDepth: null });
const bench = await openNodeShop({
  node: geth,
  settings: {
    confirmations: {
      blocks: 4,
      tiers: [
        { from: '20.00', finality: 'safe', usual: 10 },
        { from: '30.00', finality: 'finalized', usual: 10 },
      ],
    },
    two_node_amount: '40.00',
    witness_url: geth.httpUrl,
  },
});
const { shop, pay, expectPaid } = bench;
test.after(() => bench.close());

test('what is small counts by depth; what is safe, final and confirmed by a second node counts at any amount', async () => {
  const cents = [1_999, 2_000, 3_000, 4_000];
  const sessions = [];
  for (const amount of cents) sessions.push([await shop.newSession(amount), amount] as const);
  for (const [session, amount] of sessions) await pay(session, amount);
  await geth.mine(5);
  const [small, ...larger] = sessions;
  if (small) await expectPaid(small[0], ['19.99']);
  await geth.mine(3);
  await bench.untilLevel();
  for (const [session] of larger) {
    await shop.waitFor(
      'is seen',
      session,
      (now) => now.payments[0]?.status === 'seen' && now.payments[0].confirmations > 4,
    );
  }
  await geth.finalize({ depth: 2 });
  for (const [session, amount] of larger) await expectPaid(session, [(amount / 100).toFixed(2)]);
});

test.run();
