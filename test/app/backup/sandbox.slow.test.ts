/**
 * A sandbox that is restored on a new machine: it says what it needs from the old one, starts only with it, and then
 * payments and refunds go on, on a network of each family.
 */
import { cpSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { sandboxFiles } from '../../../src/app/sandbox-chains.ts';
import {
  endAll,
  find,
  runProgram,
  runQuayside,
  sandboxInstallation,
  spawnSupervisor,
} from '../../support/quayside-process.ts';

const folder = mkdtempSync(join(tmpdir(), 'quayside-restored-sandbox-'));
const passphrase = join(folder, 'passphrase');
writeFileSync(passphrase, 'correct horse battery\n', { mode: 0o600 });
const secret = ['--passphrase-file', passphrase];
const networks = ['test:bsc', 'test:ethereum', 'test:solana', 'test:tron'];

test.after(async () => {
  await endAll();
  rmSync(folder, { recursive: true, force: true });
});

test('payments and refunds go on after a restore on a new machine', async () => {
  const [before, after] = [join(folder, 'before'), join(folder, 'after')];
  const old = sandboxInstallation(before);
  const supervisor = await old.start();
  // The signer is unlocked after everything else has started; the sandbox's is made again from its seed.
  await old.tool('backup', '--to', join(folder, 'backups'), '--without-signer', ...secret);
  await supervisor.end('SIGTERM');
  const [name = ''] = readdirSync(join(folder, 'backups'));
  const restored = sandboxInstallation(after);
  const { code, out, err } = await runQuayside(
    ['restore', join(folder, 'backups', name), after, ...secret],
    restored.variables,
  );
  assert.is(code, 0, err);
  assert.match(out, `Copy ${sandboxFiles.join(', ')} from the old data folder to ${after}.`);

  const refused = spawnSupervisor(restored.variables);
  assert.is(await refused.ended, 2);
  assert.match(refused.stderr(), `copy ${sandboxFiles.join(', ')} from the old data folder to ${after}`);
  assert.is(existsSync(join(after, 'sandbox')), false, 'no new seed was made');

  for (const file of sandboxFiles) cpSync(join(before, file), join(after, file), { recursive: true });
  await restored.start();
  // The commands are those that the restore printed.
  const printed = [...out.matchAll(/^ +(?:\d+\. )?quayside (payout .+)$/gm)].map(([, words = '']) => words);
  assert.equal(
    printed.slice(0, -1).sort(),
    networks.map((key) => `payout reconcile ${key} --reason …`),
  );
  for (const words of printed.slice(0, -1)) {
    const given = words.replace('…', 'restored').split(' ');
    await find(words, () => restored.tool(...given, '--yes').catch(refusedBySigner));
  }
  assert.is(printed.at(-1), 'payout thaw --reason "compared with the chain"');
  await restored.tool('payout', 'thaw', '--reason', 'compared with the chain');
  for (const network of ['tron', 'ethereum', 'solana']) {
    const ended = await runProgram(['scripts/demo.ts', '--network', network, '--refund', '--json'], restored.variables);
    assert.is(ended.code, 0, `${network}: ${ended.stderr}`);
    assert.is(JSON.parse(ended.stdout).refund.status, 'completed');
  }
  const { balanced } = await restored.tool('ledger', 'verify');
  assert.ok(balanced);
});

/** The signer is unlocked after everything else has started. */
function refusedBySigner(error: Error): null {
  assert.match(error.message, 'signer_unreachable');
  return null;
}

test.run();
