/** `quayside sweep order`. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HDKey } from '@scure/bip32';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openSqliteDatabase } from '../../src/database/sqlite/sqlite-database.ts';
import { databaseFile, readSecretKeys } from '../../src/lib/secret-key.ts';
import { makeInstallation, runQuayside } from '../support/quayside-process.ts';

const folder = mkdtempSync(join(tmpdir(), 'quayside-order-'));
const xpub = HDKey.fromMasterSeed(new Uint8Array(32).fill(3)).derive("m/44'/60'/0'/0").publicExtendedKey;
const file = join(folder, 'quayside.json');
writeFileSync(file, JSON.stringify({ data_dir: 'data', networks: { sepolia: { url: 'ws://127.0.0.1:1', xpub } } }));
test.after(() => rmSync(folder, { recursive: true }));

makeInstallation({ QUAYSIDE_CONFIG: file });
const run = (...words: string[]) => runQuayside(words, { QUAYSIDE_CONFIG: file });
const network = 'test:ethereum';

test('a sweep that is too dear is shown, and ordered after a yes; the audit log says so', async () => {
  assert.is((await run('sweep', 'order', 'sw_1', '--yes')).code, 3);
  const dataDir = join(folder, 'data');
  const secretKeys = readSecretKeys(dataDir, {});
  const limits = { busyTimeoutMs: 5000, bytesMax: null, outageWaitS: 600 };
  const database = openSqliteDatabase({ file: databaseFile(dataDir), secretKeys, ...limits });
  try {
    const own = { sessionId: null, servesId: null, notBeforeMs: 0, nowMs: 0 };
    const from = [{ index: 0, units: 20_000_000n }];
    await database.planPayouts([
      { ...own, intent: { kind: 'sweep', id: 'sw_1', network, currency: 'USDT', from } },
      { ...own, intent: { kind: 'gas', id: 'ga_other', network, form: 'transfer', index: 0, units: 5n } },
    ]);
    const wait = { code: 'sweep_too_dear', message: 'it would cost 40 %' };
    await database.recordWait({ id: 'sw_1', generation: 0, wait, nextLookAtMs: 300_000, nowMs: 0 });
    assert.match((await run('payouts', 'show', 'sw_1')).out, 'sweep_too_dear: it would cost 40 %');

    const unasked = await run('sweep', 'order', 'sw_1');
    assert.equal([unasked.code, /--yes is required/.test(unasked.err)], [2, true]);
    assert.is((await database.findPayout('sw_1'))?.isOrdered, false);
    const other = await run('sweep', 'order', 'ga_other', '--yes');
    assert.equal([other.code, /no sweep/.test(other.err)], [1, true]);

    const { code, out } = await run('sweep', 'order', 'sw_1', '--yes', '--because', 'rent is due', '--json');
    assert.equal([code, JSON.parse(out)], [0, { id: 'sw_1', ordered: true }]);
    assert.is((await database.findPayout('sw_1'))?.isOrdered, true);
    const [entry] = await database.listAudit(1);
    assert.equal([entry?.command, entry?.target, entry?.reason], ['sweep order', 'sw_1', 'rent is due']);
  } finally {
    database.close();
  }
});

test.run();
