import { readFileSync } from 'node:fs';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { watchRules } from '../../../src/app/watches/watchdog.ts';

test('the page of alarms has every lasting alarm', () => {
  const page = readFileSync('docs/reference/alarms.md', 'utf8');
  for (const code of Object.keys(watchRules)) assert.match(page, new RegExp(`^- \`${code}\`: .+$`, 'm'), code);
});

test.run();
