/**
 * The policy file: what is read from it, and that all problems are listed at once.
 */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { Fault } from '../../src/core/fault.ts';
import { approverOf } from '../../src/signer/approval.ts';
import { loadPolicy, readPolicy } from '../../src/signer/policy.ts';
import { refuses } from '../support/refusal.ts';
import { policySettings, treasury } from '../support/temp-signer.ts';

const read = (settings: unknown) => readPolicy('policy.json', JSON.stringify(settings));
const anna = { name: 'Anna', key: approverOf(new Uint8Array(32).fill(1)) };
const one = policySettings.networks['test:one'];
const two = policySettings.networks['test:two'];

/** Returns the listed problems. */
function problemsOf(settings: unknown): string[] {
  try {
    read(settings);
    return [];
  } catch (error) {
    if (!(error instanceof Fault) || error.code !== 'policy_invalid') throw error;
    return error.message
      .split('\n')
      .slice(1)
      .map((line) => line.trim());
  }
}

test('amounts are read in base units of their token or of the native coin', () => {
  const { networks, approvers } = read({ ...policySettings, approvers: [anna] });
  assert.equal(
    networks.map(({ key, spend }) => [key, spend.chainId, spend.treasury]),
    [
      ['test:one', '31337', treasury.slice(2).toLowerCase()],
      ['test:two', '31338', treasury.slice(2).toLowerCase()],
    ],
  );
  assert.equal(networks[0]?.caps.USDT, {
    transactionUnits: 100_000_000n,
    hourUnits: 250_000_000n,
    dayUnits: 600_000_000n,
  });
  assert.is(networks[1]?.caps.USDT?.transactionUnits, 100n * 10n ** 18n);
  assert.equal(
    { feeUnitsMax: networks[0]?.spend.feeUnitsMax, gasCaps: networks[0]?.gasCaps },
    { feeUnitsMax: 2n * 10n ** 16n, gasCaps: { transactionUnits: 10n ** 16n, dayUnits: 25n * 10n ** 15n } },
  );
  assert.equal(approvers, [anna]);
});

test('the policy cannot be changed after it was read', () => {
  const { networks } = read(policySettings);
  assert.throws(() => Object.assign(networks[0]?.spend ?? {}, { treasury: 'mine' }), /read only|Cannot assign/);
  assert.throws(() => (networks as unknown[]).push({}), /not extensible|Cannot add/);
});

test('all problems of the format are listed at once, with their paths', () => {
  const { fee_max: _, ...withoutFee } = one ?? {};
  const wrong = {
    'test:one': { ...withoutFee, caps: { USDT: { transaction: 100, hour: '1e3', day: '-5' } } },
    elsewhere: two,
  };
  const problems = problemsOf({ version: 2, approvers: [{ name: '', key: 'ab' }], networks: wrong, more: 1 }).join(
    '\n',
  );
  for (const place of [
    'version',
    'approvers.0.name',
    'approvers.0.key',
    'test:one.fee_max',
    'USDT.transaction',
    'USDT.hour',
    'USDT.day',
    'elsewhere',
    'more',
  ]) {
    assert.ok(problems.includes(place), `${place} in:\n${problems}`);
  }
});

test('all problems of the content are listed at once', () => {
  const token = one?.tokens[0];
  const wrong = {
    ...one,
    treasury: treasury.replace('C7', 'c7'),
    tokens: [{ ...token, address: '0x12' }, token],
    fee_max: '0.0000000000000000001',
    caps: { USDT: { transaction: '1.0000001', hour: '2', day: '3' }, USDC: one?.caps.USDT },
  };
  const problems = problemsOf({
    ...policySettings,
    approvers: [anna, { ...anna, name: 'Again' }, { name: 'Nobody', key: `01${'0'.repeat(62)}` }],
    networks: { 'test:one': wrong, 'test:two': two, 'live:two': two },
  });
  const places = [
    'test:one.treasury',
    'tokens.0.address',
    'tokens.1.symbol',
    'fee_max',
    'caps.USDT.transaction',
    'caps.USDC',
    'live:two.chain_id',
    'approvers.1.key',
    'approvers.2.key',
  ];
  for (const place of places)
    assert.ok(
      problems.some((problem) => problem.includes(place)),
      `${place} in:\n${problems.join('\n')}`,
    );
});

test('a treasury that is a token contract, and a token without caps, are refused', () => {
  const problemsWith = (more: object) =>
    problemsOf({ ...policySettings, networks: { 'test:one': { ...one, ...more } } }).join();
  assert.match(problemsWith({ treasury: one?.tokens[0]?.address }), 'token contract');
  assert.match(problemsWith({ caps: {} }), 'caps.USDT: missing');
});

test('a file that others may read or change, a missing one, and one that is not JSON are refused', () => {
  const dir = mkdtempSync(join(tmpdir(), 'quayside-policy-'));
  const file = join(dir, 'policy.json');
  try {
    refuses('policy_invalid', () => loadPolicy(file));
    writeFileSync(file, JSON.stringify(policySettings), { mode: 0o600 });
    assert.is(loadPolicy(file).networks.length, 2);
    for (const mode of [0o620, 0o604, 0o640, 0o602]) {
      chmodSync(file, mode);
      refuses('policy_open', () => loadPolicy(file));
    }
    chmodSync(file, 0o600);
    writeFileSync(file, '{"version": 1');
    refuses('policy_invalid', () => loadPolicy(file));
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
});

test.run();
