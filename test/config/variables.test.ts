import { inspect } from 'node:util';
import { HDKey } from '@scure/bip32';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type Config, loadConfig, withPorts } from '../../src/config/config.ts';
import { openConfigs, settingPaths, variableOf } from './operator-config.ts';

const { folder, load, problems, close } = openConfigs();
test.after(close);

const xpub = HDKey.fromMasterSeed(new Uint8Array(32).fill(1)).derive("m/44'/60'/0'/0").publicExtendedKey;
const bsc = { url: 'ws://127.0.0.1:8546', xpub, sweep: { native_price: '600' } };
const base = { networks: { bsc } };

/** One setting of each kind: its path, its text in a variable, and what reads it in the configuration. */
const kinds: readonly (readonly [string, readonly string[], string, (config: Config) => unknown, unknown])[] = [
  ['a whole number', ['port'], '9000', ({ port }) => port, 9000],
  ['a number or null', ['retention', 'anonymise_days'], '30', (c) => c.retention.anonymiseDays, 30],
  ['null', ['backup', 'nightly'], 'null', ({ backup }) => backup.nightly, null],
  ['one of several words', ['request_signature'], 'required', (c) => c.requestSignature, 'required'],
  ['true', ['networks', 'bsc', 'sweep', 'auto'], 'true', (c) => c.networks[0]?.sweep.auto, true],
  ['a URL', ['networks', 'bsc', 'url'], 'wss://n.example/?key=1', (c) => c.networks[0]?.url, 'wss://n.example/?key=1'],
  ['a list', ['rates', 'sources'], 'kraken, ecb', ({ rates }) => rates.sources, ['kraken', 'ecb']],
  ['a list as JSON', ['webhooks', 'retry_delays_s'], '[60, 120]', (c) => c.webhooks.retryDelaysS, [60, 120]],
  ['a list of numbers', ['webhooks', 'retry_delays_s'], '60,120', (c) => c.webhooks.retryDelaysS, [60, 120]],
  ['an empty list', ['trusted_proxies'], '', ({ trustedProxies }) => trustedProxies, []],
  ['an element of a list', ['networks', 'bsc', 'tokens', '1', 'decimals'], '6', (c) => decimalsOf(c), [18, 6]],
  ['a key in capitals', ['rates', 'static', 'EUR'], '1.10', ({ rates }) => rates.static.EUR, '1.10'],
  [
    'an object as JSON',
    ['networks', 'bsc', 'confirmations'],
    '{"finality":"finalized","usual":3}',
    (c) => c.networks[0]?.confirmations,
    [{ finality: 'finalized', usual: 3 }],
  ],
  ['a group that is off', ['signer', 'dir'], 'keys', ({ signer }) => signer?.dir.endsWith('/keys'), true],
];
const decimalsOf = ({ networks }: Config) => networks[0]?.tokens.map(({ decimals }) => decimals);
const ofSigner = { QUAYSIDE_SIGNER__UNLOCK: 'external' };

for (const [kind, path, text, read, expected] of kinds) {
  test(`${kind} can be set by a variable`, () => {
    const name = variableOf(path);
    const others = path[0] === 'signer' ? ofSigner : {};
    assert.equal(read(load(base, { [name]: text, ...others })), expected);
  });
}

test('every setting has a variable of its own', () => {
  const paths = settingPaths();
  const names = paths.map(variableOf);
  const count = new Set(names).size;
  assert.ok(count > 60, `${count} settings`);
  for (const name of ['QUAYSIDE_LIMITS__POOL_TARGET', 'QUAYSIDE_NETWORKS__*__SWEEP__COST_SHARE_MAX', 'QUAYSIDE_SIGNER'])
    assert.ok(names.includes(name), name);
  for (const name of ['SIGNER__UNLOCK__FILE', 'NETWORKS__*__CONFIRMATIONS', 'NETWORKS__*__ADDRESS_SIGNER'])
    assert.ok(names.includes(`QUAYSIDE_${name}`), name);
});

test('each setting of the schema is set by its variable', () => {
  // No number, word, address or JSON: what takes any text takes it, and everything else says what it expected.
  const text = '{"?":';
  const places = { QUAYSIDE_NETWORKS__BSC__URL: bsc.url, QUAYSIDE_NETWORKS__BSC__XPUB: xpub };
  const outcome = (env: Readonly<Record<string, string>>) => {
    try {
      return { config: inspect(loadConfig({ env, cwd: folder }), { depth: 9 }), fault: '' };
    } catch (error) {
      return { config: '', fault: (error as Error).message };
    }
  };
  const without = outcome(places);
  assert.is(without.fault, '');
  let refused = 0;
  for (const path of settingPaths()) {
    const name = variableOf(path.map((part) => (part === '*' ? 'bsc' : part)));
    // A longer path would replace the value.
    const others = Object.fromEntries(Object.entries(places).filter(([other]) => !other.startsWith(name)));
    const { config, fault } = outcome({ ...others, [name]: text });
    assert.is.not(config, without.config, `${name} changes nothing`);
    if (!fault) continue;
    refused++;
    const isForeign = fault.includes('no such setting for this family');
    assert.ok(isForeign || !fault.includes('there is no such setting'), `${name}: ${fault}`);
  }
  assert.ok(refused > 70, `${refused} of them were refused for what they said`);
});

test('one name in two spellings is refused', () => {
  assert.equal(problems(base, { QUAYSIDE_Port: '1', QUAYSIDE_PORT: '2' }), [
    'port is set by QUAYSIDE_Port and by QUAYSIDE_PORT: keep one of them',
  ]);
});

test('the longer path wins, whatever the order of the variables', () => {
  const whole = { QUAYSIDE_RATES__STATIC: '{"EUR":"1.00","GBP":"1.20"}' };
  const part = { QUAYSIDE_RATES__STATIC__EUR: '1.10' };
  const expected = { EUR: '1.10', GBP: '1.20' };
  assert.equal(load(base, { ...whole, ...part }).rates.static, expected);
  assert.equal(load(base, { ...part, ...whole }).rates.static, expected);
});

test('an unknown variable is refused', () => {
  for (const path of ['prt', 'limits_pool_target', 'service_host_of_kubernetes']) {
    const variable = `QUAYSIDE_${path.toUpperCase()}`;
    const said = problems(base, { [variable]: '1' }).find((line) => line.includes(variable));
    assert.is(said, `${path}: there is no such setting (set by ${variable})`);
  }
});

test('ports that the system chose replace those of any variable', () => {
  const env = { QUAYSIDE_PORT: '0', QUAYSIDE_DASHBOARD_PORT: '0' };
  const config = loadConfig({ env, cwd: folder });
  const given = withPorts(config, { port: 5000, metricsPort: 6000, dashboardPort: 5001 });
  assert.equal(
    [given.port, given.metricsPort, given.dashboardPort, given.baseUrl, given.dashboardUrl],
    [5000, 6000, 5001, 'http://127.0.0.1:5000', 'http://localhost:5001'],
  );
});

test.run();
