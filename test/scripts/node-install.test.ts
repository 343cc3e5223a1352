/**
 * `quayside node install`, `start`, `stop`, `status` and `logs`: the files, which systemd itself verifies where it is
 * installed, and what is called. The clients are scripts that print a version; `test/nodes/check.test.ts` runs a geth
 * with these arguments.
 */
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { runQuayside } from '../support/quayside-process.ts';

const folder = mkdtempSync(join(tmpdir(), 'quayside-node-install-'));
const [dir, bin, units] = ['nodes', 'bin', 'units'].map((name) => join(folder, name)) as [string, string, string];
const PATH = `${bin}:${process.env.PATH}`;
test.before.each(() => {
  rmSync(folder, { recursive: true, force: true });
  for (const path of [dir, bin, units]) mkdirSync(path, { recursive: true });
  program('geth', 'echo "Geth\nVersion: 1.17.10-stable"');
  program('reth', 'echo "reth Version: 2.11.0"');
  program('lighthouse', 'echo "Lighthouse v8.3.3-abc"');
  program('nimbus_beacon_node', 'echo "Nimbus beacon node v26.10.2"');
});
test.after(() => rmSync(folder, { recursive: true, force: true }));

function program(name: string, script: string): void {
  writeFileSync(join(bin, name), `#!/bin/sh\n${script}\n`);
  chmodSync(join(bin, name), 0o755);
}

const places = ['--dir', dir, '--bin', bin, '--unit-dir', units];
const CHECKPOINT = ['--checkpoint-url', 'https://beacon.example/a%20b'];
const install = (network: string, ...words: string[]) =>
  runQuayside(['node', 'install', network, ...places, ...words], { PATH });
const unit = (name: string): string => readFileSync(join(units, name), 'utf8');

test('two clients are installed, with a shared secret that stays, and nothing else is touched', async () => {
  const { code, out, err } = await install('ethereum', '--clients', 'geth,lighthouse', ...CHECKPOINT);
  assert.equal([code, err], [0, '']);
  assert.equal(readdirSync(units).sort(), ['quayside-ethereum-geth.service', 'quayside-ethereum-lighthouse.service']);
  assert.equal(readdirSync(join(dir, 'ethereum')).sort(), ['geth', 'jwt.hex', 'lighthouse']);
  assert.equal(readdirSync(dir), ['ethereum']);
  const secret = readFileSync(join(dir, 'ethereum/jwt.hex'), 'utf8');
  assert.match(secret, /^[0-9a-f]{64}$/);
  assert.is(statSync(join(dir, 'ethereum/jwt.hex')).mode & 0o777, 0o600);
  const [geth, lighthouse] = [unit('quayside-ethereum-geth.service'), unit('quayside-ethereum-lighthouse.service')];
  assert.match(geth, `ExecStart=${bin}/geth --mainnet --datadir ${dir}/ethereum/geth `);
  assert.match(geth, `--authrpc.jwtsecret ${dir}/ethereum/jwt.hex`);
  assert.match(lighthouse, `--execution-jwt ${dir}/ethereum/jwt.hex`);
  assert.match(lighthouse, '"https://beacon.example/a%%20b"');
  assert.match(lighthouse, 'After=network-online.target quayside-ethereum-geth.service');
  for (const text of [geth, lighthouse]) {
    for (const [, address] of text.matchAll(/--(?:http|ws|authrpc)[.-]addr(?:ess)? (\S+)/g))
      assert.is(address, '127.0.0.1');
  }
  assert.match(geth, 'TimeoutStopSec=300');
  assert.match(out, `+ ExecStart=${bin}/geth`);
  assert.match(out, `chown -R quayside-node: ${dir}/ethereum/geth ${dir}/ethereum/lighthouse ${dir}/ethereum/jwt.hex`);
  assert.match(out, 'signed by 15E66D941F697E28F49381F426416DC3F30674B0');
  const again = await install('ethereum', '--clients', 'geth,lighthouse', ...CHECKPOINT);
  assert.match(again.out, 'every file is as it should be');
  assert.is(readFileSync(join(dir, 'ethereum/jwt.hex'), 'utf8'), secret);
});

test('a changed file is shown, replaced and kept; --dry-run writes nothing', async () => {
  const first = await install('ethereum', '--clients', 'reth,nimbus', ...CHECKPOINT, '--dry-run');
  assert.is(first.code, 0);
  assert.equal([readdirSync(dir), readdirSync(units)], [[], []]);
  await install('ethereum', '--clients', 'reth,nimbus', ...CHECKPOINT);
  const path = join(units, 'quayside-ethereum-reth.service');
  const own = unit('quayside-ethereum-reth.service').replace('KillSignal=SIGINT', 'KillSignal=SIGKILL');
  writeFileSync(path, own);
  const { out } = await install('ethereum', '--clients', 'reth,nimbus', ...CHECKPOINT);
  assert.match(out, /- KillSignal=SIGKILL\n\+ KillSignal=SIGINT/);
  assert.match(out, 'sudo -u quayside-node');
  assert.match(out, 'trustedNodeSync');
  const copies = readdirSync(units).filter((name) => name.endsWith('.bak'));
  assert.is(copies.length, 1);
  assert.is(readFileSync(join(units, copies[0] ?? ''), 'utf8'), own);
});

test('TRON: files of its publisher are asked for, and its ports are closed before it starts, by rules that root owns', async () => {
  program('java', 'true');
  const missing = await install('tron');
  assert.is(missing.code, 1);
  assert.match(missing.err, 'java-tron needs FullNode.jar and config.conf in');
  mkdirSync(join(dir, 'tron'), { recursive: true });
  for (const name of ['FullNode.jar', 'config.conf']) writeFileSync(join(dir, 'tron', name), '');
  assert.is((await install('tron')).code, 0);
  const text = unit('quayside-tron-java-tron.service');
  const rules = join(units, 'quayside-tron-java-tron.nft');
  assert.ok(text.indexOf(`ExecStartPre=+/usr/sbin/nft -f ${rules}`) < text.indexOf('ExecStart='), text);
  assert.match(text, 'ExecStopPost=+/usr/sbin/nft delete table inet quayside_tron_java_tron');
  assert.match(text, 'TimeoutStopSec=600');
  assert.match(readFileSync(rules, 'utf8'), /iifname != "lo" tcp dport \{ 8090, 8091, .*\} drop/);
  assert.match(readFileSync(join(dir, 'tron/quayside.conf'), 'utf8'), 'openHistoryQueryWhenLiteFN = true');
});

const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0;
(hasSystemd ? test : test.skip)('systemd-analyze accepts every unit of every recipe', async () => {
  for (const [name, version] of [
    ['java', ''],
    ['geth-bsc', 'Version: 1.8.2'],
  ] as const)
    program(name, `echo "${version}"`);
  for (const network of ['tron', 'bsc']) {
    mkdirSync(join(dir, network), { recursive: true });
    for (const name of ['FullNode.jar', 'config.conf', 'config.toml']) writeFileSync(join(dir, network, name), '');
  }
  const user = ['--user', 'root'];
  assert.is((await install('ethereum', '--clients', 'geth,lighthouse', ...CHECKPOINT, ...user)).code, 0);
  assert.is((await install('ethereum', '--clients', 'reth,nimbus', ...CHECKPOINT, ...user)).code, 0);
  assert.is((await install('bsc', ...user)).code, 0);
  assert.is((await install('tron', ...user)).code, 0);
  const files = readdirSync(units).filter((name) => name.endsWith('.service'));
  assert.is(files.length, 6);
  const { status, stderr } = spawnSync(
    'systemd-analyze',
    ['verify', '--man=no', ...files.map((name) => join(units, name))],
    { encoding: 'utf8' },
  );
  // The firewall's own program may be missing on the machine that tests.
  const complaints = stderr.split('\n').filter((line) => line.includes('quayside-') && !/usr\/sbin\/nft/.test(line));
  assert.equal(complaints, [], `${status} ${stderr}`);
  // It does find what is wrong.
  const wrong = join(units, 'quayside-wrong.service');
  writeFileSync(
    wrong,
    unit(files[0] ?? '')
      .replace('TimeoutStopSec=', 'TimeoutStopSecs=')
      .replace('KillMode=mixed', 'KillMode=gently'),
  );
  assert.match(
    spawnSync('systemd-analyze', ['verify', '--man=no', wrong], { encoding: 'utf8' }).stderr,
    /TimeoutStopSecs|KillMode/,
  );
});

const composeOf = (network: string): string => readFileSync(join(dir, network, 'compose.yaml'), 'utf8');

test('--compose: a pinned image, its own network, no open port but those of peers, and the time to stop', async () => {
  const { code, out, err } = await install('ethereum', '--compose', '--clients', 'reth,lighthouse', ...CHECKPOINT);
  assert.equal([code, err, readdirSync(units)], [0, '', []]);
  const text = composeOf('ethereum');
  const [, reth = '', lighthouse = ''] = text.split(/^ {2}ethereum-\w+:$/m);
  assert.match(reth, 'image: ghcr.io/paradigmxyz/reth:v2.11.0');
  const after = (word: string) => new RegExp(`- "${word}"\\n +- "([^"]+)"`).exec(reth)?.[1];
  assert.equal(['--http.addr', '--ws.addr', '--authrpc.addr', '--authrpc.jwtsecret', '--datadir'].map(after), [
    '0.0.0.0',
    '0.0.0.0',
    '127.0.0.1',
    `${dir}/ethereum/jwt.hex`,
    `${dir}/ethereum/reth`,
  ]);
  const ports = [...text.matchAll(/- "(\d+):\1\/tcp"/g)].map(([, port]) => port);
  assert.equal(ports, ['30303', '9000', '9001'], 'neither 8545, 8546, 8551 nor 5052');
  assert.match(reth, /stop_signal: SIGINT\n +stop_grace_period: 300s/);
  assert.match(lighthouse, 'network_mode: "service:ethereum-reth"');
  for (const part of [reth, lighthouse])
    for (const wanted of ['read_only: true', 'cap_drop: [ALL]', 'user: "1000:1000"', 'profiles: [ethereum]'])
      assert.ok(part.includes(wanted), wanted);
  assert.match(out, `run --rm ethereum-reth download --datadir ${dir}/ethereum/reth`);
  assert.match(out, 'quayside node connect ethereum ws://ethereum-reth:8546');
  const secret = readFileSync(join(dir, 'ethereum/jwt.hex'), 'utf8');
  const again = await install('ethereum', '--compose', '--clients', 'reth,lighthouse', ...CHECKPOINT);
  assert.match(again.out, 'every file is as it should be');
  assert.is(readFileSync(join(dir, 'ethereum/jwt.hex'), 'utf8'), secret);
  const unknown = await install('ethereum', '--compose', '--clients', 'reth,nimbus', ...CHECKPOINT);
  assert.is(unknown.code, 1);
  assert.match(unknown.err, 'no image of nimbus is known');
});

const hasCompose = spawnSync('docker-compose', ['version']).status === 0;
(hasCompose ? test : test.skip)('docker-compose accepts all nodes beside Quayside (needs docker-compose)', async () => {
  for (const network of ['tron', 'bsc']) {
    mkdirSync(join(dir, network), { recursive: true });
    for (const name of ['FullNode.jar', 'config.conf', 'config.toml']) writeFileSync(join(dir, network, name), '');
    assert.is((await install(network, '--compose')).code, 0);
  }
  const checkpoint = ['--checkpoint-url', 'https://beacon.example/$HOME'];
  assert.is((await install('ethereum', '--compose', ...checkpoint)).code, 0);
  const networks = ['ethereum', 'tron', 'bsc'];
  const files = ['deploy/compose.yaml', ...networks.map((name) => join(dir, name, 'compose.yaml'))];
  const profiles = ['core', ...networks].flatMap((name) => ['--profile', name]);
  const words = [...files.flatMap((file) => ['-f', file]), ...profiles, 'config'];
  const { status, stdout, stderr } = spawnSync('docker-compose', words, { encoding: 'utf8' });
  assert.is(status, 0, stderr);
  assert.match(stdout, 'https://beacon.example/$$HOME', 'what a URL has is not replaced');
  for (const name of ['ethereum-geth', 'ethereum-lighthouse', 'tron-java-tron', 'bsc-geth', 'server'])
    assert.match(stdout, new RegExp(`^  ${name}:$`, 'm'));
  assert.match(composeOf('tron'), `- "-jar"\n      - "${dir}/tron/FullNode.jar"`);
});

test('a program that is missing, old or broken, a second client of a role, and a missing checkpoint are refused', async () => {
  const refused = async (code: number, text: string | RegExp, ...words: string[]) => {
    const ended = await install('ethereum', ...words);
    assert.is(ended.code, code, ended.out);
    assert.match(ended.err, text);
    assert.equal([readdirSync(dir), readdirSync(units)], [[], []]);
  };
  await refused(2, '--checkpoint-url', '--clients', 'geth,lighthouse');
  await refused(2, 'one execution client', '--clients', 'geth,reth,lighthouse', ...CHECKPOINT);
  await refused(2, 'one consensus client', '--clients', 'geth', ...CHECKPOINT);
  await refused(2, '"prysm"', '--clients', 'prysm', ...CHECKPOINT);
  await refused(2, 'no name of a user', '--clients', 'geth,lighthouse', ...CHECKPOINT, '--user', 'a b');
  program('geth', 'echo "Version: 1.17.9-stable"');
  await refused(1, '1.17.10 or later', '--clients', 'geth,lighthouse', ...CHECKPOINT);
  program('geth', 'exit 3');
  await refused(1, 'does not run', '--clients', 'geth,lighthouse', ...CHECKPOINT);
  rmSync(join(bin, 'geth'));
  await refused(1, 'there is no geth', '--clients', 'geth,lighthouse', ...CHECKPOINT);
  assert.is((await install('solana')).code, 3);
});

test('services are started and stopped in order, and their state is what systemd says', async () => {
  await install('ethereum', '--clients', 'geth,lighthouse', ...CHECKPOINT);
  const log = join(folder, 'called');
  program(
    'systemctl',
    `echo "$@" >> ${log}; test "$1" = show && printf 'ActiveState=active\\nSubState=running\\nResult=success\\nMainPID=7\\nNRestarts=2\\nActiveEnterTimestamp=now\\n'; exit 0`,
  );
  program('journalctl', `echo "$@" >> ${log}; echo one; echo two`);
  const node = (...words: string[]) => runQuayside(['node', ...words, '--unit-dir', units], { PATH });
  assert.is((await node('start', 'ethereum', '--dry-run')).code, 0);
  assert.not.ok(existsSync(log));
  assert.is((await node('start', 'ethereum')).code, 0);
  assert.is((await node('stop', 'ethereum')).code, 0);
  const [geth, lighthouse] = ['geth', 'lighthouse'].map((client) => `quayside-ethereum-${client}.service`);
  const called = () => readFileSync(log, 'utf8').trimEnd().split('\n');
  assert.equal(called(), [`start ${geth}`, `start ${lighthouse}`, `stop ${geth}`, `stop ${lighthouse}`]);
  const { code, out } = await node('status', 'ethereum', '--json');
  assert.is(code, 0);
  assert.equal(JSON.parse(out)[0], {
    unit: geth,
    state: 'active (running)',
    result: 'success',
    pid: 7,
    restarts: 2,
    since: 'now',
  });
  assert.equal((await node('logs', 'ethereum', '--lines', '5')).out, 'one\ntwo\n');
  assert.match(called().at(-1) ?? '', `-u ${geth} -u ${lighthouse} -n 5`);
  program('systemctl', 'echo "Access denied" >&2; exit 4');
  const denied = await node('stop', 'ethereum');
  assert.is(denied.code, 1);
  assert.match(denied.err, 'Access denied');
  assert.is((await node('status', 'tron')).code, 3);
});

test.run();
