/**
 * The installation's own files are found wherever its folder is.
 */
import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { installationFolder, readShipped, runnable } from '../../src/lib/installation.ts';

const dir = mkdtempSync(join(tmpdir(), 'quayside-installation-'));
test.after(() => rmSync(dir, { recursive: true, force: true }));

test('an installation may be in a folder whose name means something in a URL', async () => {
  const folder = join(dir, 'shop 100%41');
  const own = fileURLToPath(runnable(new URL('../../src/lib/installation.ts', import.meta.url)));
  const file = relative(installationFolder, own);
  mkdirSync(join(folder, dirname(file)), { recursive: true });
  for (const path of [file, 'package.json']) cpSync(join(installationFolder, path), join(folder, path));
  const other: typeof import('../../src/lib/installation.ts') = await import(pathToFileURL(join(folder, file)).href);
  assert.is(other.installationFolder, `${folder}/`);
  assert.equal(other.readShipped('package.json'), readShipped('package.json'));
});

test.run();
