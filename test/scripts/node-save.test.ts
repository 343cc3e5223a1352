/**
 * `quayside network check --save`: what it writes, what it leaves alone, and when it writes nothing.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HDKey } from '@scure/bip32';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { makeInstallation, runQuayside } from '../support/quayside-process.ts';
import { SANDBOX_CHAIN_ID, sandboxTokens, startSimulatedNode } from '../support/simulated-node.ts';

const folder = mkdtempSync(join(tmpdir(), 'quayside-node-connect-'));
const file = join(folder, 'quayside.json');
const variables = { QUAYSIDE_CONFIG: file };
const xpub = HDKey.fromMasterSeed(new Uint8Array(32).fill(3)).derive("m/44'/60'/0'/0").publicExtendedKey;
const node = await startSimulatedNode({ family: 'evm', seed: 'connect', finalityDistance: 2 });
for (let n = 0; n < 6; n++) node.world.mine();
const mining = setInterval(() => node.world.mine(), 300);
const tokens = JSON.stringify(sandboxTokens);
/** As people write it: indented by four, and with values on one line. */
const written = `{
    "data_dir" : "data",
    "networks": {
        "sepolia": { "chain_id": "${SANDBOX_CHAIN_ID}", "tokens": ${tokens}, "block_time_ms": 1000,
                     "url": "ws://old.example:8546", "xpub": "${xpub}" }
    }
}
`;
test.before.each(() => {
  for (const name of readdirSync(folder)) if (name !== 'data') rmSync(join(folder, name), { recursive: true });
  writeFileSync(file, written, { mode: 0o640 });
});
test.after(async () => {
  clearInterval(mining);
  await node.close();
  rmSync(folder, { recursive: true, force: true });
});

const check = (name: string) => ['network', 'check', name, '--url', node.wsUrl, '--save'];
const connect = (...words: string[]) => runQuayside([...check('sepolia'), '--outage', '2s', ...words], variables);
const others = (): string[] => readdirSync(folder).filter((name) => name !== 'quayside.json' && name !== 'data');

test('the url is replaced, every other setting stays, and the old file is kept', async () => {
  const { code, out, err } = await connect();
  assert.equal([code, err], [0, ''], out);
  const expected = JSON.parse(written);
  expected.networks.sepolia.url = node.wsUrl;
  assert.is(readFileSync(file, 'utf8'), `${JSON.stringify(expected, null, 4)}\n`, 'it keeps its indentation');
  assert.is(statSync(file).mode & 0o777, 0o640);
  const [backup, ...more] = others();
  assert.equal(more, []);
  assert.match(backup ?? '', /^quayside\.json\.\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.bak$/);
  assert.is(readFileSync(join(folder, backup ?? ''), 'utf8'), written);
  assert.match(out, `networks.sepolia.url: ws://old.example:8546 → ${node.wsUrl}`);
  assert.match(out, 'Restart Quayside');
  const again = await connect('--json');
  assert.is(JSON.parse(again.out).outcome, 'unchanged');
});

test('a change is in the audit log, with hosts and without credentials', async () => {
  makeInstallation(variables);
  assert.is((await connect('--reason', 'a new node')).code, 0);
  const [entry] = JSON.parse((await runQuayside(['audit', 'list', '--json'], variables)).out);
  assert.is(entry.command, 'network check');
  assert.is(entry.reason, 'a new node');
  assert.equal(entry.before, { url: 'old.example:8546' });
  assert.equal(entry.after, { url: new URL(node.wsUrl).host });
});

test('nothing is written if the settings would be wrong', async () => {
  const unknown = await runQuayside(check('ethereum'), variables);
  assert.is(unknown.code, 2);
  assert.match(unknown.err, /nothing was changed: with the node, .*\n.*networks\.ethereum\.xpub/);
  assert.not.match(unknown.err, 'draft');
  const overridden = { ...variables, QUAYSIDE_NETWORKS__SEPOLIA__URL: 'ws://127.0.0.1:1' };
  assert.is((await runQuayside(check('sepolia'), overridden)).code, 2);
  assert.is((await runQuayside(check('sepolia'), {})).code, 2);
  assert.equal([readFileSync(file, 'utf8'), others()], [written, []]);
});

test.run();
