/** Held money keeps one alarm open, until nothing waits for a decision. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { watchHeldMoney } from '../../../src/app/watches/held-money.ts';
import { handClock } from '../../support/hand-clock.ts';
import { ingestedChain } from '../../support/ingested-chain.ts';
import { merchantStore, newSession } from '../../support/new-session.ts';
import { openTempDatabase } from '../../support/temp-database.ts';
import { testNetwork } from '../../support/test-network.ts';
import { CALM_MS, watched } from '../../support/watched.ts';

test('a surplus opens the alarm, which names the command and ends once it is settled', async () => {
  const clock = handClock();
  const { database, close } = openTempDatabase();
  try {
    const network = testNetwork({ name: 'one' });
    const chain = ingestedChain(() => database, clock, network);
    const store = merchantStore();
    await database.createStore(store);
    await database.addAddresses({ family: 'evm', mode: 'test', source: 'x', firstIndex: 0, keys: ['ab'.repeat(20)] });
    await chain.mine();
    await chain.report('following');
    const wish = { storeId: store.id, name: '1', networks: [network], amountMinor: 1000, nowMs: clock.nowMs() };
    await database.createSession(newSession(wish));
    const bench = watched(watchHeldMoney(database), database, clock);
    assert.equal(await bench.look(), []);
    const [token] = network.tokens;
    const units = 12n * 10n ** BigInt(token?.decimals ?? 0);
    await chain.confirm(await chain.mine([{ to: 'ab'.repeat(20), currency: token?.symbol ?? 'USDT', units }]));
    assert.equal(await bench.look(), ['money_held']);
    const [alarm] = await bench.open();
    assert.match(
      alarm?.message ?? '',
      /^1 amount is held until somebody decides, the newest is 2\.00 \w+ \(surplus\) .*`quayside held list`/,
    );
    const [held] = await database.listHeldMoney({ limit: 1 });
    const act = { atMs: clock.nowMs(), operator: 'alice', command: 'held accept', reason: null };
    await database.acceptHeldMoney(held?.id ?? '', act, false);
    await bench.look();
    assert.equal(await bench.after(CALM_MS), []);
  } finally {
    close();
  }
});

test.run();
