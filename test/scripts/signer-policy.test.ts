/**
 * `quayside-signer policy`: adding a network to an existing policy.
 */
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { signerTool } from '../../scripts/cli/signer-tool.ts';
import { runTool } from '../../scripts/cli/tool.ts';
import { signerFiles } from '../../src/signer/files.ts';
import { loadPolicy } from '../../src/signer/policy.ts';

const dir = mkdtempSync(join(tmpdir(), 'quayside-policy-'));
test.after(() => rmSync(dir, { recursive: true, force: true }));
const file = signerFiles(dir).policy;
const treasury = '0x71C7656EC7ab88b098defB751B7401B5f6d8976F';
const payers = '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359';

/** A policy with caps that the operator has changed. */
const before = `{
  "version": 1,
  "approvers": [],
  "networks": {
    "test:ethereum": {
      "family": "evm",
      "chain_id": "11155111",
      "tokens": [{ "symbol": "USDC", "address": "0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238", "decimals": 6 }],
      "treasury": "${treasury}",
      "fee_max": "0.03",
      "caps": { "USDC": { "transaction": "1", "hour": "2", "day": "3" } },
      "gas_caps": { "transaction": "0.02", "day": "0.5" }
    }
  }
}
`;
test.before.each(() => writeFileSync(file, before, { mode: 0o600 }));

const made = {
  family: 'evm',
  mode: 'test',
  chain_id: '424242',
  confirmations: { blocks: 12 },
  reorg_depth_max: 64,
  block_time_ms: 2_000,
  poll_ms: 2_000,
  tokens: [{ symbol: 'USDC', address: '0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48', decimals: 6 }],
  signer: {
    fee_max: '7.5',
    caps: { transaction: '20', hour: '40', day: '80' },
    gas_caps: { transaction: '0.5', day: '2' },
    fee_caps: { hour: '30', day: '90' },
    count_caps: { hour: 7, day: 70 },
  },
};

/** Runs the command with a configuration of these networks. */
async function add(words: readonly string[], networks: object = { made }) {
  const config = join(dir, 'config.json');
  writeFileSync(config, JSON.stringify({ data_dir: 'data', signer: { dir, unlock: 'prompt' }, networks }));
  const { code, out, err } = await runTool(
    signerTool,
    ['policy', ...words, '--json'],
    { QUAYSIDE_CONFIG: config },
    dir,
  );
  return { code, answer: JSON.parse(out), err };
}

test('a network is added with the caps in its file, and the rest of the policy stays as it was', async () => {
  const { code, answer, err } = await add(['made', '--treasury', payers]);
  assert.is(code, 0, err);
  assert.equal([answer.policy, answer.network, answer.added, answer.fee_max], [file, 'test:made', true, '7.5']);
  const policy = JSON.parse(readFileSync(file, 'utf8'));
  assert.equal(policy.networks['test:ethereum'], JSON.parse(before).networks['test:ethereum']);
  assert.equal(policy.networks['test:made'], {
    family: 'evm',
    chain_id: '424242',
    tokens: [{ symbol: 'USDC', address: '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48', decimals: 6 }],
    treasury: payers,
    fee_max: '7.5',
    caps: { USDC: { transaction: '20', hour: '40', day: '80' } },
    gas_caps: { transaction: '0.5', day: '2' },
    fee_caps: { hour: '30', day: '90' },
    count_caps: { hour: 7, day: 70 },
  });
  assert.is(statSync(file).mode & 0o777, 0o600);
  assert.equal(
    loadPolicy(file).networks.map(({ key, spend }) => [key, spend.feeUnitsMax]),
    [
      ['test:ethereum', 3n * 10n ** 16n],
      ['test:made', 75n * 10n ** 17n],
    ],
  );
});

test('every network file limits fees and signatures, with room for some transactions at the highest fee', async () => {
  for (const name of ['ethereum', 'sepolia', 'bsc', 'bsc-testnet', 'tron', 'tron-nile', 'solana', 'solana-devnet']) {
    const { signer } = JSON.parse(readFileSync(`config/networks/${name}.json`, 'utf8'));
    const [each, hour, day] = [signer.fee_max, signer.fee_caps.hour, signer.fee_caps.day].map(Number) as number[];
    assert.ok(
      each && hour && day && hour >= 10 * each && hour <= 50 * each && day >= 2 * hour && day <= 200 * each,
      name,
    );
    assert.ok(signer.count_caps.hour <= signer.count_caps.day, name);
  }
});

test('adding a network again changes nothing, even if the operator has changed its caps', async () => {
  await add(['made', '--treasury', payers]);
  const changed = readFileSync(file, 'utf8').replace('"7.5"', '"9"');
  writeFileSync(file, changed);
  const { code, answer, err } = await add(['made', '--treasury', payers.toLowerCase()]);
  assert.equal({ code, answer }, { code: 0, answer: { policy: file, network: 'test:made', added: false } }, err);
  assert.is(readFileSync(file, 'utf8'), changed);
});

test('a preset needs no settings, and a policy can have several families', async () => {
  const { code, answer, err } = await add(['bsc-testnet', '--treasury', treasury], {});
  const caps = { transaction: '500', hour: '2000', day: '5000' };
  assert.equal([code, answer.network, answer.caps.USDT], [0, 'test:bsc', caps], err);
  const tron = await add(['tron', '--treasury', 'TNPeeaaFB7K9cmo4uQpcU32zGK8G1NYqeL'], {});
  assert.equal([tron.code, tron.answer.network, tron.answer.fee_max], [0, 'live:tron', '50'], tron.err);
  assert.is(loadPolicy(file).networks.length, 3);
});

test('a new policy needs settings that can be read, and a network in them', async () => {
  const config = join(dir, 'config.json');
  const begin = async (text: string) => {
    writeFileSync(config, text);
    return runTool(signerTool, ['init', '--dir', join(dir, 'new')], { QUAYSIDE_CONFIG: config }, dir);
  };
  assert.match((await begin('{ "networks": {')).err, /config\.json: cannot be read as configuration/);
  assert.match((await begin('{ "networks": {} }')).err, 'no network is configured');
});

test('a network that contradicts the policy or cannot be read changes nothing, with a reason', async () => {
  const refused = async (words: readonly string[], networks: object, code: number, error: string, why: RegExp) => {
    const found = await add(words, networks);
    assert.equal([found.code, found.answer.error?.code], [code, error], found.err);
    assert.match(found.err, why);
    assert.is(readFileSync(file, 'utf8'), before);
  };
  const own = ['made', '--treasury', treasury];
  const { signer, ...capless } = made;
  const missing = /networks\.made\.signer: missing, expected the caps to start with: \{"fee_max": .*"gas_caps": /;
  await refused(own, { made: capless }, 2, 'config_invalid', missing);
  const halved = { ...made, signer: { ...signer, fee_max: 'much', gas_caps: {} } };
  const three = /wrong in 3 place.*signer\.fee_max: "much".*gas_caps\.day: missing/s;
  await refused(own, { made: halved }, 2, 'config_invalid', three);
  const nowhere = /"nowhere" is neither a configured network \(made\) nor a preset \(.*sepolia/;
  await refused(['nowhere', '--treasury', treasury], { made }, 3, 'not_found', nowhere);
  await refused(['made', '--treasury', 'T'], { made }, 1, 'policy_invalid', /treasury/);
  await refused(['made'], { made }, 2, 'usage', /--treasury/);

  const twin = { ...made, chain_id: '11155111' };
  await refused(own, { made: twin }, 1, 'policy_invalid', /test:ethereum also has 11155111/);

  chmodSync(file, 0o644);
  await refused(own, { made }, 1, 'policy_open', /chmod 600/);
  rmSync(file);
  assert.match((await add(own)).err, /there is no policy .*`quayside-signer init` creates one/);
});

test.run();
