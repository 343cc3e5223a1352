/** An indexer whose settings allow no payouts. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openSigner } from '../../src/signer/client.ts';
import { startIndexer, statusOf } from '../support/running-indexer.ts';
import { openTempDatabase } from '../support/temp-database.ts';
import { testNetwork } from '../support/test-network.ts';
import { until } from '../support/until.ts';

test('payments are still followed where the settings allow no payouts', async () => {
  const { database, close } = openTempDatabase();
  const network = testNetwork({ name: 'tron', family: 'tron', url: 'http://127.0.0.1:1', finalityUrl: null });
  const signer = openSigner({ socket: '/nowhere/signer.sock', timeoutMs: 1000 });
  const indexer = startIndexer(database, network, { signer });
  try {
    await until('an alarm is raised', async () =>
      (await database.listAlarms(10)).some(({ code }) => code === 'payouts_need_finality'),
    );
    assert.is((await database.listEngines())[0]?.reason?.code, 'payouts_need_finality');
    await until('the follower reports', async () => (await statusOf(database, network)) !== null);
    assert.is(await indexer.stop(), 'stopped');
  } finally {
    await signer.close();
    close();
  }
});

test.run();
