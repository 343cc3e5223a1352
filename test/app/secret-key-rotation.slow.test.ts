/** A rotation of the secret key that is killed anywhere, as by `kill -9`, loses nothing and is continued. */
import { spawnSync } from 'node:child_process';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { rotateSecretKey } from '../../src/app/secret-key-rotation.ts';
import { readKeyTable } from '../../src/lib/secret-key.ts';
import { withApi } from '../support/api-server.ts';
import { loaderOptions, ownProgram } from '../support/own-program.ts';
import { checkAll, connectBeside, fill, keyFileOf, rotationParts } from '../support/rotation-bench.ts';

const program = ownProgram(new URL('../support/dying-rotation.ts', import.meta.url));

for (const when of ['before', 'after'] as const) {
  test(`a rotation that is killed ${when} any step leaves everything usable, and is continued`, () =>
    withApi({ pages: true, addresses: 40 }, async (api) => {
      const contents = await fill(api);
      const beside = connectBeside(api);
      const newest = () => Math.max(...readKeyTable(keyFileOf(api)).keys());
      let steps = 0;
      for (; steps < 100; steps++) {
        const before = newest();
        const args = [...loaderOptions, program, api.file, String(steps), when];
        const ended = spawnSync(process.execPath, args, { encoding: 'utf8' });
        if (ended.status === 0) break;
        assert.is(ended.signal, 'SIGKILL', ended.stderr);
        assert.is(newest(), before + 1, 'the version was in the file before anything needed it');
        await checkAll(api, contents);
        const { current, isFinished } = await beside.secretKeyState();
        const hasEnded = current === newest() && isFinished;
        const done = await rotateSecretKey(rotationParts(api, beside));
        assert.ok(done.kind === 'done');
        const expected = hasEnded ? [before + 2, false] : [before + 1, true];
        assert.equal([done.version, done.isContinued], expected, `step ${steps}`);
        await checkAll(api, contents);
      }
      assert.ok(steps > 10, 'it was killed at the change of version, in each table, and at the end');
      const use = await beside.secretKeyUse();
      const older = use.filter(({ version }) => version !== newest()).map(({ what }) => what);
      assert.equal([...new Set(older)], ['destinations of refunds', 'payouts of refunds'], 'the approved refund');
      beside.close();
    }));
}

test.run();
