/** `config/README.md` says what the settings are, and there are few. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { settingPaths } from './operator-config.ts';

const SETTINGS_MAX = 75;
const WORDS_MAX = 2_500;

test('config/README.md is what `npm run settings` writes', () => {
  const { status, stderr } = spawnSync(process.execPath, ['--import', 'tsx', 'scripts/settings.ts', '--check'], {
    encoding: 'utf8',
  });
  assert.is(status, 0, stderr);
});

test('there are few settings, on a page that can be read', () => {
  const paths = settingPaths().map((path) => path.join('.'));
  const leaves = paths.filter((one) => !paths.some((other) => other.startsWith(`${one}.`)));
  assert.ok(leaves.length <= SETTINGS_MAX, `${leaves.length} settings`);
  const words = readFileSync('config/README.md', 'utf8').split(/\s+/).filter(Boolean).length;
  assert.ok(words <= WORDS_MAX, `${words} words`);
});

test.run();
