/** The page of commands says what the tables of commands have, and there are few. */
import { readFileSync } from 'node:fs';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { commandsPage } from '../../scripts/cli/commands-page.ts';
import { quaysideTool } from '../../scripts/cli/quayside.ts';

test('docs/reference/commands.md is what `npm run commands` writes', () => {
  const page = readFileSync('docs/reference/commands.md', 'utf8');
  assert.is(page, commandsPage());
});

test('quayside has at most 48 commands', () => {
  assert.ok(quaysideTool.commands.length <= 48, `${quaysideTool.commands.length} commands`);
});

test.run();
