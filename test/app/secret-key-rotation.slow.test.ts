/** A rotation of the secret key that is killed at any step leaves a key that fits; the next rotation ends it. */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { rotateSecretKey } from '../../src/app/secret-key-rotation.ts';
import { fitsDatabase } from '../../src/database/rotate-secret-key.ts';
import { openSecretKey } from '../../src/lib/secret-key.ts';
import { withApi } from '../support/api-server.ts';
import { loaderOptions, ownProgram } from '../support/own-program.ts';
import { checkAll, endApproval, fill, keyFileOf, rotationParts } from './rotation-bench.ts';

const program = ownProgram(new URL('./dying-rotation.ts', import.meta.url));

test('a rotation that is killed at any step leaves a key that fits the database, and the next one ends it', () =>
  withApi({ pages: true, addresses: 40 }, async (api) => {
    const contents = await fill(api);
    await endApproval(api, contents);
    const file = keyFileOf(api);
    const seen = new Set<string>();
    let steps = 0;
    for (; steps < 100; steps++) {
      const before = readFileSync(file, 'utf8');
      const args = [...loaderOptions, program, api.file, String(steps)];
      const ended = spawnSync(process.execPath, args, { encoding: 'utf8' });
      if (ended.status === 0) break;
      assert.is(ended.signal, 'SIGKILL', ended.stderr);
      const fits = (await fitsDatabase({ file: api.file, url: null }, openSecretKey(file))) ? 'file' : 'next';
      assert.ok(
        fits === 'file' || (await fitsDatabase({ file: api.file, url: null }, openSecretKey(`${file}.next`))),
        `step ${steps}`,
      );
      if (fits === 'file') {
        api.reopenDatabase();
        await checkAll(api, contents);
      }
      const isSwapped = readFileSync(file, 'utf8') !== before;
      seen.add(isSwapped ? 'swapped' : fits);
      const { kind } = await rotateSecretKey(rotationParts(api.file));
      assert.is(kind, fits === 'file' ? 'done' : 'ended', `step ${steps}`);
      assert.is(existsSync(`${file}.next`), false);
      assert.ok(await fitsDatabase({ file: api.file, url: null }, openSecretKey(file)));
      api.reopenDatabase();
      await checkAll(api, contents);
    }
    assert.ok(steps > 14, 'it was killed before the key, in each table, before and after the exchange of files');
    assert.equal([...seen].sort(), ['file', 'next', 'swapped']);
  }));

test.run();
