/**
 * The `quayside` program as people start it; what its commands do is tested without a process.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { makeInstallation, runProgram, runQuayside } from '../support/quayside-process.ts';

const folder = mkdtempSync(join(tmpdir(), 'quayside-program-'));
makeInstallation({ QUAYSIDE_DATA_DIR: folder });
test.after(() => rmSync(folder, { recursive: true, force: true }));

for (const [code, ...words] of [
  [0, 'key', 'list'],
  [3, 'key', 'revoke', 'key_nobody', '--json'],
] as const) {
  test(`quayside ${words.join(' ')}: the program prints the command’s answer and exits with ${code}`, async () => {
    const variables = { QUAYSIDE_DATA_DIR: folder };
    const { out, err } = await runQuayside(words, variables);
    assert.equal(await runProgram(['scripts/quayside.mjs', ...words], variables), { code, stdout: out, stderr: err });
  });
}

test.run();
