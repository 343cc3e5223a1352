/**
 * `quayside wallet rotate` beside a signer: on one network, on all of its policy's, and where only the signer's own
 * user may change the policy.
 */
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HDKey } from '@scure/bip32';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { runTool } from '../../scripts/cli/tool.ts';
import { evmAddress } from '../../src/chains/evm/address.ts';
import { evmSpending } from '../../src/chains/evm/spend.ts';
import { openSqliteDatabase } from '../../src/database/sqlite/sqlite-database.ts';
import { openLog } from '../../src/lib/log.ts';
import { databaseFile, readSecretKeys } from '../../src/lib/secret-key.ts';
import { signerFiles } from '../../src/signer/files.ts';
import { loadPolicy } from '../../src/signer/policy.ts';
import { serveSigningService } from '../../src/signer/server.ts';
import { handClock } from '../support/hand-clock.ts';
import { makeInstallation } from '../support/quayside-process.ts';
import { makeSignerFolder, openSigningServiceIn, policySettings, seed } from '../support/temp-signer.ts';

const xpub = HDKey.fromMasterSeed(new Uint8Array(32).fill(3)).derive("m/44'/60'/0'/0").publicExtendedKey;
const refundWallet = (index: number) => evmAddress.format(evmSpending.derive(seed, { role: 'refund', index }).key);

/** An installation with three networks, of which the policy of its running signer has two. */
async function open() {
  const home = mkdtempSync(join(tmpdir(), 'quayside-wallet-'));
  const { dir, remove } = makeSignerFolder(policySettings, false);
  const files = signerFiles(dir);
  const { tokens } = policySettings.networks['test:one'] ?? {};
  const network = (chain: string) => ({
    ...{ family: 'evm', mode: 'test', chain_id: chain, url: 'ws://127.0.0.1:1', xpub, tokens },
    ...{ confirmations: { blocks: 2 }, reorg_depth_max: 40, block_time_ms: 1000, poll_ms: 100 },
  });
  const networks = { one: network('31337'), two: network('31338'), three: network('31339') };
  const config = join(home, 'config.json');
  mkdirSync(join(home, 'data'));
  writeFileSync(config, JSON.stringify({ data_dir: 'data', signer: { dir, unlock: 'external' }, networks }));
  makeInstallation({ QUAYSIDE_CONFIG: config });
  const opened = openSigningServiceIn(dir, handClock());
  const served = await serveSigningService({
    ...{ socket: files.socket, service: opened.service, log: openLog('test', 'silent') },
    prepareToSign: () => Promise.resolve(),
  });
  return {
    files,
    dataDir: join(home, 'data'),
    indices: () =>
      loadPolicy(files.policy).networks.map(({ key, walletIndices }) => [key, walletIndices.refund, walletIndices.gas]),
    async run(...words: string[]) {
      const { code, out, err } = await runTool([...words, '--json'], { QUAYSIDE_CONFIG: config }, home);
      return { code, answer: code === 0 ? JSON.parse(out) : null, said: out + err };
    },
    async close() {
      await served.close();
      opened.close();
      remove();
      rmSync(home, { recursive: true });
    },
  };
}

const scene = (name: string, work: (world: Awaited<ReturnType<typeof open>>) => Promise<void>): void =>
  void test(name, async () => {
    const world = await open();
    await work(world).finally(world.close);
  });

const because = ['--because', 'a laptop was stolen'];

scene('without a network, the wallet is rotated on every network that the policy has', async ({ run, indices }) => {
  const dry = await run('wallet', 'rotate', 'refund', '--dry-run', ...because);
  assert.is(dry.code, 0, dry.said);
  assert.equal(
    dry.answer.map(({ network, changed }: { network: string; changed: boolean }) => [network, changed]),
    [
      ['test:one', false],
      ['test:two', false],
    ],
  );
  assert.equal(indices(), [
    ['test:one', 0, 0],
    ['test:two', 0, 0],
  ]);

  const { answer } = await run('wallet', 'rotate', 'refund', ...because);
  const one = { role: 'refund', before: 0, after: 1, from: refundWallet(0), to: refundWallet(1), changed: true };
  assert.equal(answer, [
    { network: 'test:one', ...one },
    { network: 'test:two', ...one },
  ]);
  assert.equal(indices(), [
    ['test:one', 1, 0],
    ['test:two', 1, 0],
  ]);
  const audit = await run('audit', 'list');
  assert.equal(
    audit.answer.map(({ command, target, reason }: Record<string, string>) => [command, target, reason]).sort(),
    ['one', 'two'].map((name) => ['wallet rotate', `test:${name} refund`, 'a laptop was stolen']),
  );

  // The signer was not restarted: the same step is not made twice, also where it was made for one network alone.
  assert.equal((await run('wallet', 'rotate', 'gas', 'test:two', ...because)).answer.length, 1);
  const again = await run('wallet', 'rotate', 'gas', ...because);
  assert.equal(
    again.answer.map(({ changed }: { changed: boolean }) => changed),
    [true, false],
  );
  assert.equal(indices(), [
    ['test:one', 1, 1],
    ['test:two', 1, 1],
  ]);
});

scene('if one network refuses, no other is rotated, and nothing is in the audit log', async (world) => {
  const { run, indices } = world;
  assert.equal((await run('audit', 'list')).answer, []);
  const options = { file: databaseFile(world.dataDir), secretKeys: readSecretKeys(world.dataDir, {}) };
  const database = openSqliteDatabase({ ...options, busyTimeoutMs: 10_000, bytesMax: null, outageWaitS: 600 });
  try {
    const waits = { code: 'payouts_not_adopted', message: 'adopt the journal' };
    await database.reportEngine('test:two', waits, Date.now());
  } finally {
    database.close();
  }
  const { code, said } = await run('wallet', 'rotate', 'gas', ...because);
  assert.is.not(code, 0);
  assert.match(said, /test:two/);
  assert.equal(indices(), [
    ['test:one', 0, 0],
    ['test:two', 0, 0],
  ]);
  assert.equal((await run('audit', 'list')).answer, []);
  assert.is((await run('wallet', 'rotate', 'gas', 'test:one', ...because)).code, 0);
});

scene(
  'a network that the policy lacks, or that does not exist, is refused, and nothing is changed',
  async ({ run, indices }) => {
    const lacking = await run('wallet', 'rotate', 'refund', 'test:three', ...because);
    assert.is.not(lacking.code, 0);
    assert.match(lacking.said, /test:three/);
    assert.is.not((await run('wallet', 'rotate', 'refund', 'test:none', ...because)).code, 0);
    assert.is((await run('wallet', 'rotate', 'treasury', ...because)).code, 2);
    assert.equal(indices(), [
      ['test:one', 0, 0],
      ['test:two', 0, 0],
    ]);
  },
);

scene(
  'a policy of another user is not changed: the command for that user is shown',
  async ({ run, files, indices }) => {
    chmodSync(files.policy, 0o640);
    for (const network of [[], ['test:two']]) {
      const { code, said } = await run('wallet', 'rotate', 'refund', ...network, ...because);
      assert.is.not(code, 0);
      assert.match(said, 'policy_elsewhere');
      assert.match(said, `as that user, run \`quayside signer policy rotate refund ${network[0] ?? '<network>'}\``);
    }
    assert.equal((await run('audit', 'list')).answer, []);
    chmodSync(files.policy, 0o600);
    assert.equal(indices(), [
      ['test:one', 0, 0],
      ['test:two', 0, 0],
    ]);

    const { code, answer, said } = await run('signer', 'policy', 'rotate', 'refund', 'test:two', '--dir', files.dir);
    assert.is(code, 0, said);
    assert.equal([answer.network, answer.role, answer.before, answer.after], ['test:two', 'refund', 0, 1]);
    assert.equal(indices(), [
      ['test:one', 0, 0],
      ['test:two', 1, 0],
    ]);
  },
);

test.run();
