import { readFileSync } from 'node:fs';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { watchRules } from '../../../src/app/watches/rules.ts';

test('the operators’ page says of every lasting alarm what it means and what to do', () => {
  const page = readFileSync('docs/reference/alarms.md', 'utf8');
  for (const code of Object.keys(watchRules)) {
    // A halt has the code of its reason.
    const row =
      code === 'network_halted'
        ? /`network_halted`.* \| .+ \|$/m
        : new RegExp(`^\\| \`${code}\` +\\| .+ \\| .+ \\|$`, 'm');
    assert.match(page, row, code);
  }
});

test.run();
