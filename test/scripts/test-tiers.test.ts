/**
 * Which files are fast, as `test/README.md` has it.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'uvu';
import * as assert from 'uvu/assert';

/** Calls that start programs of Quayside, or a browser. */
const STARTS =
  /\b(startInstance|openFlowInstallation|openPayoutShop|spawnSupervisor|sandboxInstallation|runProgram|startSigner|openBrowser)\(/;

const fast = readdirSync('test', { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.test.ts') && !name.endsWith('.slow.test.ts') && !name.startsWith('nodes/'))
  .map((name) => `test/${name}`);

test('no fast file starts a program of Quayside or a browser', () => {
  const starting = fast.filter((file) => STARTS.test(readFileSync(file, 'utf8')));
  assert.equal(starting, [], 'name them *.slow.test.ts');
});

test.run();
