import { chmodSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { HDKey } from '@scure/bip32';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { loadConfig, withPorts } from '../../src/config/config.ts';
import { Fault } from '../../src/core/fault.ts';
import { installationFolder } from '../../src/lib/installation.ts';
import { readSecretKey } from '../../src/lib/secret-key.ts';
import { sourceNames } from '../../src/rates/source.ts';
import { have } from '../support/fields.ts';
import { plainSweepPolicy } from '../support/plain-policies.ts';
import { openConfigs } from './operator-config.ts';

const { folder, load, problems, close } = openConfigs();
test.after(close);

const account = (seed: number) => HDKey.fromMasterSeed(new Uint8Array(32).fill(seed)).derive("m/44'/60'/0'/0");
const xpub = account(1).publicExtendedKey;
const otherXpub = account(2).publicExtendedKey;
const node = { url: 'ws://127.0.0.1:8546', xpub };

test('a preset needs only a node URL and an xpub', () => {
  const config = load({ networks: { ethereum: node, bsc: node } });
  const [ethereum, bsc] = config.networks;
  const { key, mode, url, xpub: account, confirmations, inclusionGraceS, sweep, tokens } = ethereum ?? {};
  assert.equal({ key, mode, url, account }, { key: 'live:ethereum', mode: 'live', url: node.url, account: xpub });
  assert.equal(confirmations, [{ blocks: 12 }, { fromPar: 10n ** 22n, finality: 'finalized', usual: 64 }]);
  assert.equal({ inclusionGraceS, sweep }, { inclusionGraceS: 36, sweep: plainSweepPolicy });
  assert.equal(tokens?.[0], { symbol: 'USDT', address: '0xdAC17F958D2ee523a2206206994597C13D831ec7', decimals: 6 });
  assert.equal({ key: bsc?.key, inclusionGraceS: bsc?.inclusionGraceS }, { key: 'live:bsc', inclusionGraceS: 15 });
  assert.equal(
    bsc?.tokens.map((token) => token.decimals),
    [18, 18],
  );
  assert.is(config.sandbox, false);
  assert.is(config.port, 8420);
  assert.equal([config.metricsHost, config.metricsPort], ['127.0.0.1', 9420]);
  assert.is(config.dashboardPort, 8421);
  assert.is(config.dashboardUrl, 'http://localhost:8421');
  assert.equal(config.trustedProxies, ['127.0.0.0/8', '::1/128']);
  assert.is(config.baseUrl, 'http://127.0.0.1:8420');
  assert.is(config.checkoutUrl, config.baseUrl);
  assert.ok(Object.isFrozen(config.networks[0]?.tokens[0]));
});

const shipped = readdirSync(join(installationFolder, 'config/networks')).map((file) => file.slice(0, -5));

test('every shipped preset is valid and complete, with a title, a fee hint, caps for the signer and marks', () => {
  assert.ok(shipped.length >= 12);
  for (const name of shipped) {
    const { xpub: key, ...place } = node;
    const derives = !name.includes('solana');
    const env = { QUAYSIDE_CONFIG: join(folder, 'preset.json') };
    writeFileSync(
      env.QUAYSIDE_CONFIG,
      JSON.stringify({ networks: { [name]: { ...place, ...(derives && { xpub: key }) } } }),
    );
    const [network] = loadConfig({ env, cwd: folder }).networks;
    assert.not.equal(network?.title, network?.name, name);
    assert.ok(network?.feeHint && network.signer && network.nativeSymbol, name);
    const marks = [network.mark, ...network.tokens.map(({ symbol }) => network.tokenMarks?.[symbol])];
    assert.not(marks.includes(undefined), `${name} and its tokens have marks`);
    assert.is(network.explorer === undefined, network.sandbox, name);
  }
});

test('test and live networks can be configured together', () => {
  const own = { ...node, xpub: otherXpub };
  const { networks } = load({ networks: { ethereum: node, bsc: node, sepolia: own, 'bsc-testnet': own } });
  assert.equal(
    networks.map((network) => network.key),
    ['live:ethereum', 'live:bsc', 'test:ethereum', 'test:bsc'],
  );
});

test('an operator’s file overrides what a preset says about page, wallets and signer key by key; null removes a key', () => {
  const signer = { fee_max: '0.5', gas_caps: { day: '3' } };
  const wallets = { okx: false, add: { rpc_urls: ['https://rpc.example.com'] } };
  const [bsc] = load({
    networks: { bsc: { ...node, title: 'BSC', fee_hint: null, explorer: null, wallets, signer } },
  }).networks;
  assert.equal([bsc?.title, bsc?.feeHint, bsc?.explorer], ['BSC', undefined, undefined]);
  const add = { chainName: 'BNB Smart Chain', rpcUrls: ['https://rpc.example.com'] };
  assert.equal(bsc?.wallets, { trustCoin: 20_000_714, okx: false, add });
  assert.equal(bsc?.signer, {
    fee_max: '0.5',
    caps: { transaction: '500', hour: '2000', day: '5000' },
    gas_caps: { transaction: '0.02', day: '3' },
    fee_caps: { hour: '0.25', day: '1' },
    count_caps: { hour: 500, day: 5000 },
  });
  assert.is(load({ networks: { bsc: { ...node, signer: null } } }).networks[0]?.signer, undefined);
});

test('settings for the page, wallets and the signer are checked, and every problem is named', () => {
  const wrong = {
    title: '',
    fee_hint: 'cheap',
    mark: { shape: 'circle', letter: 'ET', colour: 'red' },
    explorer: 'https://etherscan.io/tx/',
    wallets: { okx: 'yes', add: { rpc_urls: ['http://10.0.0.1'] }, node_origins: ['https://a.b/c'] },
    signer: { fee_max: '1e3', caps: { hour: '0.001' }, approvers: [] },
  };
  assert.equal(problems({ networks: { ethereum: { ...node, ...wrong } } }).sort(), [
    'networks.ethereum.explorer: "https://etherscan.io/tx/", expected an https:// URL with {tx} in the place of the transaction’s hash',
    'networks.ethereum.fee_hint: "cheap", expected one of low, medium, high',
    'networks.ethereum.mark.colour: "red", expected a colour such as "#3c6df0"',
    'networks.ethereum.mark.letter: "ET", expected one letter or digit',
    'networks.ethereum.signer.approvers: there is no such setting',
    'networks.ethereum.signer.caps.hour: "0.001", expected an amount of stablecoins as text, such as "500"',
    'networks.ethereum.signer.fee_max: "1e3", expected an amount of the network’s coin as text, such as "0.02"',
    'networks.ethereum.title: "", expected a name of 1 to 64 characters',
    'networks.ethereum.wallets.add.chain_name: missing, expected a name of 1 to 64 characters',
    'networks.ethereum.wallets.add.rpc_urls[0]: "http://10.0.0.1", expected an https:// URL',
    'networks.ethereum.wallets.node_origins[0]: "https://a.b/c", expected the origin of a public node, such as "https://node.example.com"',
    'networks.ethereum.wallets.okx: "yes", expected true or false',
  ]);
  const { xpub: _, ...place } = node;
  const unfit = problems({
    networks: {
      bsc: { ...node, native_symbol: null, wallets: { cluster: 'bsc:main' } },
      solana: { ...place, wallets: { add: { chain_name: 'S', rpc_urls: ['https://a.b'] } } },
    },
  });
  assert.equal(unfit.sort(), [
    'networks.bsc.native_symbol: missing, expected the short name of the coin: wallets.add needs it',
    'networks.bsc.wallets.cluster: there is no such setting for this family (evm)',
    'networks.solana.wallets.add: there is no such setting for this family (solana)',
  ]);
  const none = { ...node, wallets: { add: { chain_name: 'B', rpc_urls: [] } } };
  assert.equal(problems({ networks: { bsc: none } }), [
    'networks.bsc.wallets.add.rpc_urls: empty, expected at least one public node',
  ]);
});

test('settings of sweeping have defaults, and nothing is swept automatically', () => {
  const sweepOf = (sweep: unknown) => load({ networks: { ethereum: { ...node, sweep } } }).networks[0]?.sweep;
  assert.equal(sweepOf(null), plainSweepPolicy);
  assert.equal(sweepOf({ auto: true, native_price: '3000.5' }), {
    ...plainSweepPolicy,
    auto: true,
    nativePricePar: 3_000_500_000_000_000_000_000n,
  });
  assert.equal(sweepOf({ min: '5.00', cost_share_max: '0.005' }), {
    ...plainSweepPolicy,
    minPar: 5n * 10n ** 18n,
    costSharePpmMax: 5_000n,
  });
});

test('mail goes through a server that a URL names, without options of its own', () => {
  const mail = (url: string, from = 'shop@shop.example') => ({ networks: { ethereum: node }, mail: { url, from } });
  assert.equal(load(mail('smtps://ann:p%40ss@[::1]:465/')).mail?.url, 'smtps://ann:p%40ss@[::1]:465/');
  for (const bad of ['', 'http://m.example', 'smtp://', 'smtp://m.example/x', 'smtp://m.example?requireTLS=false']) {
    assert.match(problems(mail(bad)).join('\n'), /^mail\.url: not usable, expected smtps:/, bad);
  }
  for (const bad of ['ann', 'Ann <ann@shop.example>', 'ann@shop.example,eve@evil.example', 'a@b.example\r\nBcc: c']) {
    assert.match(problems(mail('smtp://m.example', bad)).join('\n'), /^mail\.from: .*expected a mail address/s, bad);
  }
});

test('a trusted proxy is a range of addresses, and never all of them', () => {
  const networks = { ethereum: node };
  assert.equal(load({ networks, trusted_proxies: ['172.18.0.0/16', 'fd00::/8'] }).trustedProxies.length, 2);
  for (const range of ['0.0.0.0/0', '::/0', '172.18.0.0', 'proxy']) {
    const [problem = ''] = problems({ networks, trusted_proxies: [range] });
    assert.match(
      problem,
      /^trusted_proxies.*expected a CIDR range such as 172\.18\.0\.0\/16, not of all addresses/,
      range,
    );
  }
});

test('an invalid setting of sweeping is named', () => {
  const sweep = { min: 20, cost_share_max: '1.5', native_price: '0' };
  assert.equal(problems({ networks: { ethereum: { ...node, sweep } } }), [
    'networks.ethereum.sweep.min: 20, expected an amount of stablecoins as text, such as "50.00"',
    'networks.ethereum.sweep.cost_share_max: "1.5", expected a part of one as text, such as "0.02"',
    'networks.ethereum.sweep.native_price: "0", expected stablecoins per coin as text, such as "3000.00", or null',
  ]);
  const [unpriced = ''] = problems({ networks: { ethereum: { ...node, sweep: { auto: true } } } });
  assert.match(unpriced, /^networks\.ethereum\.sweep\.native_price: null, .*whether a sweep costs more than it moves$/);
});

test('without an operator’s file the sandbox is configured, whose nodes are known once it runs', () => {
  const dataDir = join(folder, 'sandbox');
  mkdirSync(dataDir);
  const env = { QUAYSIDE_DATA_DIR: 'sandbox', QUAYSIDE_PORT: '0' };
  const before = loadConfig({ env, cwd: folder });
  assert.is(before.sandbox, true);
  assert.is(before.dataDir, dataDir);
  assert.is(before.metricsPort, 0);
  have(before.networks, [
    { key: 'test:tron', sandbox: true },
    { key: 'test:ethereum', sandbox: true },
    { key: 'test:bsc', sandbox: true },
    { key: 'test:solana', sandbox: true },
  ]);
  const networks = {
    tron: { url: 'http://127.0.0.1:1000' },
    ethereum: { url: 'ws://127.0.0.1:1001' },
    bsc: { url: 'ws://127.0.0.1:1002' },
    solana: { url: 'ws://127.0.0.1:1003', rpc_url: 'http://127.0.0.1:1003' },
  };
  writeFileSync(join(dataDir, 'sandbox.json'), JSON.stringify({ xpub: { evm: xpub, tron: xpub }, networks }));
  const running = loadConfig({ env, cwd: folder });
  assert.equal(
    running.networks.map(({ url }) => url),
    ['http://127.0.0.1:1000', 'ws://127.0.0.1:1001', 'ws://127.0.0.1:1002', 'ws://127.0.0.1:1003'],
  );
  assert.equal(
    running.networks.map(({ rpcUrl, xpub: key }) => [rpcUrl, key !== null]),
    [
      [undefined, true],
      [undefined, true],
      [undefined, true],
      ['http://127.0.0.1:1003', false],
    ],
    'a network with imported addresses has no xpub',
  );
  writeFileSync(join(dataDir, 'sandbox.json'), '{');
  assert.is(
    loadConfig({ env, cwd: folder }).networks[0]?.url,
    'ws://127.0.0.1:0',
    'the sandbox itself refuses the file',
  );
});

test('sandbox chains share neither chain id nor contract with a real one', () => {
  const own = { ...node, xpub: otherXpub };
  const { xpub: _, ...place } = node;
  const derived = { tron: node, ethereum: node, bsc: node, 'tron-nile': own, sepolia: own, 'bsc-testnet': own };
  const shipped = load({ networks: { ...derived, solana: place, 'solana-devnet': place } }).networks;
  const simulated = loadConfig({ env: {}, cwd: folder }).networks;
  // The sandbox plays USDC on TRON too, which the real network's preset does not offer.
  const isPlayedOnly = (name: string, symbol: string) => name === 'tron' && symbol === 'USDC';
  const real = new Set(shipped.flatMap(({ chainId, tokens }) => [chainId, ...tokens.map((token) => token.address)]));
  for (const { chainId, tokens, confirmations, name, mode } of simulated) {
    for (const mark of [chainId, ...tokens.map((token) => token.address)]) assert.not.ok(real.has(mark), mark);
    const twin = shipped.find((network) => network.name === name && network.mode !== mode);
    assert.equal(confirmations, twin?.confirmations);
    assert.equal(
      tokens.filter(({ symbol }) => !isPlayedOnly(name, symbol)).map(({ symbol, decimals }) => [symbol, decimals]),
      twin?.tokens.map(({ symbol, decimals }) => [symbol, decimals]),
    );
  }
});

test('a disabled token is not offered until its reason is taken away, and one at least must be left', () => {
  const symbols = (config: ReturnType<typeof load>) => config.networks[0]?.tokens.map(({ symbol }) => symbol);
  const networks = { tron: node };
  assert.equal(symbols(load({ networks })), ['USDT']);
  const enabled = load({ networks }, { QUAYSIDE_NETWORKS__TRON__TOKENS__1__DISABLED: 'null' });
  assert.equal(symbols(enabled), ['USDT', 'USDC']);
  assert.equal(problems({ networks }, { QUAYSIDE_NETWORKS__TRON__TOKENS__0__DISABLED: 'sold out' }), [
    'networks.tron.tokens: all disabled, expected at least one that is not',
  ]);
});

test('a custom network has all settings, and its paths are resolved from its file', () => {
  const own = {
    ...node,
    family: 'evm',
    mode: 'test',
    chain_id: 31337,
    confirmations: { blocks: 1 },
    reorg_depth_max: 1,
    block_time_ms: 1000,
    poll_ms: 1000,
    tokens: [{ symbol: 'USDC', address: '0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48', decimals: 6 }],
  };
  const config = load({ data_dir: 'mine', networks: { anvil: own } });
  assert.is(config.networks[0]?.key, 'test:anvil');
  const [{ title, wallets, signer } = {}] = config.networks;
  assert.equal([title, wallets, signer], ['anvil', {}, undefined]);
  assert.is(config.networks[0]?.chainId, '31337');
  assert.is(config.networks[0]?.tokens[0]?.address, '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48');
  assert.is(config.dataDir, join(folder, 'mine'));
});

test('all problems are listed at once, each with its path and the variable that set it', () => {
  const found = problems(
    {
      prot: 1,
      log_level: 'loud',
      webhooks: { timeout: 1, allow_cidrs: ['10.0.0.0'] },
      rates: { static: { EUR: '0', dollars: '1' } },
      networks: {
        ethereum: { url: 'ftp://x', tokens: [{ symbol: 'DAI', address: '0x1', decimals: 19 }] },
        bsc: { ...node, confirmations: { blocks: 0 } },
      },
    },
    { QUAYSIDE_PORT: 'eighty', QUAYSIDE_POOL: '3' },
  );
  assert.equal(found.sort(), [
    'log_level: "loud", expected one of fatal, error, warn, info, debug, trace, silent',
    'networks.bsc.confirmations.blocks: 0, expected a whole number from 1 to 100000',
    'networks.ethereum.tokens[0].decimals: 19, expected a whole number from 0 to 18',
    'networks.ethereum.tokens[0].symbol: "DAI", expected one of USDT, USDC',
    'networks.ethereum.url: not usable, expected a ws://, wss://, http:// or https:// URL of your node',
    'networks.ethereum.xpub: missing, expected an extended public key of the account that receives',
    'pool: there is no such setting (set by QUAYSIDE_POOL)',
    'port: "eighty", expected a whole number from 0 to 65535 (set by QUAYSIDE_PORT)',
    'prot: there is no such setting',
    'rates.static.EUR: "0", expected a positive decimal number as text, such as "1.08"',
    'rates.static.dollars: expected currency codes of three capitals',
    'webhooks.allow_cidrs[0]: "10.0.0.0", expected a CIDR range such as 10.0.0.0/8',
    'webhooks.timeout: there is no such setting',
  ]);
});

const usdt = (address: string, symbol = 'USDT') => ({ symbol, address, decimals: 6 });
const USDT_AT = '0xdac17f958d2ee523a2206206994597c13d831ec7';

/** One wrong setting each: a change to a valid configuration, and the one line of the message. */
const single: readonly (readonly [string, Record<string, unknown>, RegExp])[] = [
  ['a misspelt preset', { etherium: node }, /^networks\.etherium: not a preset \(.*sepolia.*\)/],
  ['no network at all', {}, /^networks: empty, expected at least one network/],
  [
    'a wrong checksum',
    { ethereum: { ...node, tokens: [usdt('0xDAC17F958D2ee523a2206206994597C13D831ec7')] } },
    /^networks\.ethereum\.tokens\[0\]\.address: .*expected an address of family evm/,
  ],
  [
    'a private key',
    { ethereum: { ...node, xpub: account(1).privateExtendedKey } },
    /^networks\.ethereum\.xpub: this is a private key/,
  ],
  ['a damaged key', { ethereum: { ...node, xpub: `${xpub.slice(0, -1)}1` } }, /^networks\.ethereum\.xpub: /],
  [
    'two accounts in one mode',
    { ethereum: node, bsc: { ...node, xpub: otherXpub } },
    /^networks\.bsc\.xpub: differs from that of networks\.ethereum/,
  ],
  [
    'the same name twice',
    { ethereum: node, bsc: { ...node, name: 'ethereum' } },
    /^networks\.bsc\.name: "ethereum" is also the name of networks\.ethereum/,
  ],
  [
    'the same chain twice',
    { ethereum: node, bsc: { ...node, chain_id: '1' } },
    /^networks\.bsc\.chain_id: networks\.ethereum has 1 too/,
  ],
  [
    'a symbol twice',
    { ethereum: { ...node, tokens: [usdt(USDT_AT), usdt('0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48')] } },
    /^networks\.ethereum\.tokens\[1\]\.symbol: USDT is listed twice/,
  ],
  [
    'a contract twice',
    { ethereum: { ...node, tokens: [usdt(USDT_AT), usdt(USDT_AT, 'USDC')] } },
    /^networks\.ethereum\.tokens\[1\]\.address: 0xdAC.* is listed twice/,
  ],
  ['no tokens', { ethereum: { ...node, tokens: [] } }, /^networks\.ethereum\.tokens: empty/],
  ['a network that is no object', { ethereum: 'ws://x' }, /^networks\.ethereum: expected an object/],
];

for (const [what, networks, line] of single) {
  test(`refused with one line: ${what}`, () => {
    const [first, ...more] = problems({ networks });
    assert.match(first ?? '', line);
    if (what !== 'a misspelt preset') assert.equal(more, []);
  });
}

test('neither node URLs nor keys are repeated in a message', () => {
  const secret = account(1).privateExtendedKey;
  const text = problems({ networks: { ethereum: { url: 'htp://user:hunter2@node', xpub: secret } } }).join('\n');
  assert.not.match(text, /hunter2/);
  assert.not.ok(text.includes(secret));
});

test('a missing or malformed file is named', () => {
  assert.match(problems('{"port": 1,}')[0] ?? '', /operator-\d+\.json: cannot be read as configuration/);
  assert.throws(
    () => loadConfig({ env: { QUAYSIDE_CONFIG: 'nowhere.json' }, cwd: folder }),
    (error: unknown) => error instanceof Fault && error.message.includes(join(folder, 'nowhere.json')),
  );
});

test('default URLs follow the port that the system chose', () => {
  const given = withPorts(load({ port: 0, host: '0.0.0.0', networks: { ethereum: node } }), { port: 5000 });
  assert.equal(
    { port: given.port, baseUrl: given.baseUrl, checkoutUrl: given.checkoutUrl },
    { port: 5000, baseUrl: 'http://localhost:5000', checkoutUrl: 'http://localhost:5000' },
  );
  const own = withPorts(load({ port: 0, base_url: 'https://pay.example.com', networks: { ethereum: node } }), {
    port: 5000,
  });
  assert.equal([own.baseUrl, own.checkoutUrl], ['https://pay.example.com', 'https://pay.example.com']);
});

test('the signer’s paths are resolved from the data directory; by default there is no signer', () => {
  assert.is(load({ networks: { ethereum: node } }).signer, null);
  const networks = {
    ethereum: { ...node, witness_url: 'https://node.example', fallback_url: 'wss://other.example' },
  };
  const prompt = load({ data_dir: 'mine', signer: { dir: 'signer', unlock: 'prompt' }, networks });
  assert.equal(prompt.signer, { dir: join(folder, 'mine', 'signer'), unlock: { kind: 'prompt' } });
  assert.is(prompt.networks[0]?.witnessUrl, 'https://node.example');
  assert.is(prompt.networks[0]?.fallbackUrl, 'wss://other.example');
  const file = load({ data_dir: 'mine', signer: { dir: '/srv/signer', unlock: { file: 'pass' } }, networks });
  assert.equal(file.signer, { dir: '/srv/signer', unlock: { kind: 'file', path: join(folder, 'mine', 'pass') } });
  for (const signer of [{}, { dir: 'signer' }, { dir: '', unlock: 'prompt' }, { dir: 's', unlock: 'env' }, 'signer']) {
    assert.match(problems({ signer, networks }).join(), /^signer/);
  }
});

test('the configuration accepts exactly the existing rate sources', () => {
  const config = load({ networks: { ethereum: node }, rates: { sources: sourceNames } });
  assert.equal(config.rates.sources, sourceNames);
  const unknown = problems({ networks: { ethereum: node }, rates: { sources: ['kraken', 'bitstamp'] } });
  assert.match(unknown.join(), /^rates\.sources\b.*"bitstamp".*kraken, binance, coinbase, ecb, static/);
});

test('the secret key is created once, for its owner only, and never beside an existing database', () => {
  const dataDir = join(folder, 'keys');
  const first = readSecretKey(dataDir, {});
  assert.is(first.length, 32);
  assert.is(statSync(join(dataDir, 'secret.key')).mode & 0o777, 0o600);
  assert.equal(readSecretKey(dataDir, {}), first);
  writeFileSync(join(folder, 'mounted'), `${'ab'.repeat(32)}\n`, { mode: 0o440 });
  assert.is(readSecretKey(dataDir, { QUAYSIDE_SECRET_KEY_FILE: join(folder, 'mounted') })[0], 0xab);
  for (const mode of [0o444, 0o460, 0o601]) {
    chmodSync(join(folder, 'mounted'), mode);
    const read = () => readSecretKey(dataDir, { QUAYSIDE_SECRET_KEY_FILE: join(folder, 'mounted') });
    assert.throws(read, /mounted is open to other users of this machine; run: chmod o=,g-w /, mode.toString(8));
  }
  for (const mode of [0o640, 0o604]) {
    chmodSync(join(dataDir, 'secret.key'), mode);
    const open = /secret\.key is open to other users of this machine; run: chmod 600 /;
    assert.throws(() => readSecretKey(dataDir, {}), open, mode.toString(8));
  }
  chmodSync(join(dataDir, 'secret.key'), 0o600);

  writeFileSync(join(dataDir, 'secret.key'), 'short');
  assert.throws(() => readSecretKey(dataDir, {}), /64 hex digits/);
  rmSync(join(dataDir, 'secret.key'));
  writeFileSync(join(dataDir, 'quayside.db'), '');
  assert.throws(() => readSecretKey(dataDir, {}), /secret\.key cannot be read; restore it/);
});

test.run();
