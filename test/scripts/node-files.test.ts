/**
 * The files for running nodes in `scripts/nodes`: units, compose files and firewall rules are read by the programs that
 * they are for, where these are installed; the scripts fetch from a real server, which breaks off.
 */
import { execFile, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';

const NODES = 'scripts/nodes';
const folder = mkdtempSync(join(tmpdir(), 'quayside-node-files-'));
const read = (path: string): string => readFileSync(path, 'utf8');
const files = readdirSync(NODES, { recursive: true, encoding: 'utf8' }).map((name) => join(NODES, name));
const endingIn = (end: string): string[] => files.filter((path) => path.endsWith(end)).sort();
const [units, scripts, composeFiles] = [endingIn('.service'), endingIn('.sh'), endingIn('compose.yaml')];
/** A test that is skipped, by its name, where the program is not installed. */
const needs = (program: string, ...words: string[]) =>
  spawnSync(program, words.length > 0 ? words : ['--version']).status === 0 ? test : test.skip;
const run = (program: string, ...words: string[]) => {
  const { status, stdout, stderr } = spawnSync(program, words, { encoding: 'utf8' });
  return { status, text: `${stdout}${stderr}` };
};

needs('shellcheck')('shellcheck finds nothing in the scripts (needs shellcheck)', () => {
  assert.is(scripts.length, 5);
  assert.is(run('shellcheck', ...scripts).text, '');
});

needs('systemd-analyze')('systemd accepts every unit, and finds what is wrong in one (needs systemd-analyze)', () => {
  assert.is(units.length, 7);
  const placed = (path: string, change = (text: string) => text): string => {
    const copy = join(folder, basename(path));
    // Programs, users and folders of the unit do not exist on the machine that tests.
    const own = read(path)
      .replace(/^User=.*/gm, '')
      .replace(/^(ExecStart=|ExecStartPre=\+|ExecStopPost=\+)\S+/gm, `$1${process.execPath}`);
    writeFileSync(copy, change(own));
    return copy;
  };
  const verified = run('systemd-analyze', 'verify', '--man=no', ...units.map((path) => placed(path)));
  assert.is(verified.text, '');
  const wrong = placed(units[0] ?? '', (text) => text.replace('TimeoutStopSec=', 'TimeoutStopSecs='));
  assert.match(run('systemd-analyze', 'verify', '--man=no', wrong).text, /TimeoutStopSecs/);
});

needs('docker-compose')('docker-compose accepts each node beside Quayside’s own file (needs docker-compose)', () => {
  assert.is(composeFiles.length, 3);
  process.env.CHECKPOINT_URL = 'https://beacon.example';
  for (const path of composeFiles) {
    const network = path.split('/').at(-2) ?? '';
    const words = ['-f', 'deploy/compose.yaml', '-f', path, '--profile', network, 'config'];
    const { status, text } = run('docker-compose', ...words);
    assert.is(status, 0, text);
    assert.match(text, new RegExp(`^ {2}${network}-`, 'm'));
  }
});

needs('nft')('nft accepts the rules that close java-tron’s ports (needs nft)', () => {
  const { status, text } = run('nft', '--check', '--file', `${NODES}/tron/quayside-tron-java-tron.nft`);
  // Without the right to change the kernel's rules only their syntax is checked.
  if (!/Operation not permitted|netlink/.test(text)) assert.is(status, 0, text);
  assert.not.match(text, /syntax error/);
});

test('everything but the ports for peers is on loopback, and stopping has minutes', () => {
  for (const path of units) {
    const text = read(path);
    for (const [, address] of text.matchAll(/--\S*(?:addr|address)[ =](\S+)/g)) assert.is(address, '127.0.0.1', path);
    const [, stopS] = /^TimeoutStopSec=(\d+)$/m.exec(text) ?? [];
    assert.ok(Number(stopS) >= 60, path);
    assert.match(text, /^KillMode=mixed$/m);
  }
  for (const path of composeFiles) {
    const text = read(path);
    const published = [...text.matchAll(/^ +- "(\d+):\d+\/(?:tcp|udp)"$/gm)].map(([, port]) => Number(port));
    assert.ok(published.length > 0);
    for (const port of published) assert.ok([30303, 9000, 9001, 30311, 18888].includes(port), `${path}: ${port}`);
    for (const [, image = ''] of text.matchAll(/^ +image: (\S+)$/gm)) assert.match(image, /:v?\d[\w.-]*$/);
  }
  // java-tron listens at every address, so what it opens must be in the rules.
  const closed =
    /dport \{ (.*) \} drop/.exec(read(`${NODES}/tron/quayside-tron-java-tron.nft`))?.[1]?.split(', ') ?? [];
  const opened = [...read(`${NODES}/tron/quayside.conf`).matchAll(/(?:fullNodePort|solidityPort) = (\d+)/g)];
  assert.is(opened.length, 2);
  for (const [, port = ''] of opened) assert.ok(closed.includes(port), port);
});

test('a compose file gives its clients the arguments of their units, but for addresses', () => {
  const unitOf = (name: string) => {
    const text = read(units.find((path) => path.includes(name)) ?? '');
    const [, command = ''] = /^ExecStart=\S+ ((?:.*\\\n)*.*)$/m.exec(text) ?? [];
    return command.split(/[\s\\]+/).filter(Boolean);
  };
  for (const path of composeFiles) {
    for (const [, name = '', lines = ''] of read(path)
      .slice(read(path).indexOf('services:'))
      .matchAll(/\n {2}([a-z-]+):\n(?:.*\n)*? {4}command:\n((?: {6}- .*\n)+)/g)) {
      const words = lines
        .trim()
        .split('\n')
        .map((line) => line.replace(/^ *- /, '').replace(/^"(.*)"$/, '$1'));
      const same = (list: readonly string[]) =>
        list.filter((word) => !/^(0\.0\.0\.0|127\.0\.0\.1|\$\{CHECKPOINT_URL.*)$/.test(word));
      const own = words.filter((word, at) => word !== '--http.vhosts' && words[at - 1] !== '--http.vhosts');
      assert.equal(same(own), same(unitOf(name)), name);
    }
  }
});

/** The server's files, by path; each answer ends after `bytesMax` bytes. */
const served = new Map<string, Uint8Array>();
let bytesMax = Number.POSITIVE_INFINITY;
const ranges: string[] = [];
const server = createServer((request, response) => {
  const content = served.get(request.url ?? '');
  if (!content) return void response.writeHead(404).end();
  const from = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1] ?? 0);
  const etag = `"${createHash('md5').update(content).digest('hex')}"`;
  if (request.method === 'HEAD')
    return void response.writeHead(200, { 'content-length': content.length, etag, 'accept-ranges': 'bytes' }).end();
  ranges.push(request.headers.range ?? 'all');
  const rest = content.subarray(from);
  response.writeHead(from > 0 ? 206 : 200, {
    'content-length': rest.length,
    etag,
    ...(from > 0 && { 'content-range': `bytes ${from}-${content.length - 1}/${content.length}` }),
  });
  if (rest.length <= bytesMax) return void response.end(rest);
  response.write(rest.subarray(0, bytesMax), () => response.destroy());
});
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
test.before.each(() => {
  served.clear();
  ranges.length = 0;
  bytesMax = Number.POSITIVE_INFINITY;
  rmSync(join(folder, 'work'), { recursive: true, force: true });
  mkdirSync(join(folder, 'work'));
});
test.after(async () => {
  await new Promise((resolve) => server.close(resolve));
  rmSync(folder, { recursive: true, force: true });
});

/** Packs a folder `parent/…` with one file of noise, and serves it. @returns its bytes and checksums */
function serve(path: string, parent: string, { link = false, name = 'CURRENT' } = {}) {
  const source = mkdtempSync(join(folder, 'source-'));
  mkdirSync(join(source, parent, 'database'), { recursive: true });
  const noise = Buffer.from(Array.from({ length: 300_000 }, (_, at) => (at * 2_654_435_761) >>> 24));
  writeFileSync(join(source, parent, 'database', name), noise);
  if (link) symlinkSync('/etc/passwd', join(source, parent, 'database/link'));
  const archive = join(source, basename(path));
  const how = path.endsWith('.lz4') ? ['-I', 'lz4'] : path.endsWith('.zst') ? ['-I', 'zstd'] : ['-z'];
  const packed = run('tar', '-c', ...how, '-f', archive, '-C', source, parent.split('/')[0] ?? '');
  assert.is(packed.status, 0, packed.text);
  const content = readFileSync(archive);
  served.set(path, content);
  const sum = (algorithm: string) => createHash(algorithm).update(content).digest('hex');
  return { url: base + path, content, noise, md5: sum('md5'), sha256: sum('sha256') };
}

/** Runs a script while the server of this process answers it. */
const runScript = (script: string, words: readonly string[], env: NodeJS.ProcessEnv) =>
  new Promise<{ code: number; out: string; err: string }>((done) => {
    execFile(script, words, { env }, (error, out, err) => done({ code: error ? Number(error.code) : 0, out, err }));
  });
const variables = { PATH: process.env.PATH ?? '', FETCH_TRIES: '2', FETCH_PAUSE_S: '0' };
const target = (): string => join(folder, 'work/node/data');
const fetchTo = (...words: string[]) => runScript(`${NODES}/fetch.sh`, [target(), ...words], variables);

test('an archive is resumed where it broke off, verified, and unpacked; nothing else is left', async () => {
  const { url, sha256, noise, content } = serve('/a.tar.gz', 'top');
  bytesMax = Math.ceil(content.length / 3) + 1;
  const { code, err } = await fetchTo('sha256', '--strip', '1', url, sha256);
  assert.is(code, 0, err);
  assert.equal(readFileSync(join(target(), 'database/CURRENT')), noise);
  assert.equal(readdirSync(join(folder, 'work/node')), ['data']);
  assert.equal(ranges, ['all', `bytes=${bytesMax}-`, `bytes=${2 * bytesMax}-`]);
  const again = await fetchTo('sha256', url, sha256);
  assert.is(again.code, 1);
  assert.match(again.err, 'data exists: stop the node');
});

test('a later run goes on with the download, but not if the file was replaced meanwhile', async () => {
  const { url, sha256, content } = serve('/a.tar.gz', 'top');
  served.set('/a.tar.gz', content);
  bytesMax = 0;
  const stopped = await fetchTo('sha256', url, sha256);
  assert.is(stopped.code, 1);
  assert.match(stopped.err, 'run this again later, and it resumes');
  writeFileSync(`${target()}.a.tar.gz`, content.subarray(0, 1_000));
  bytesMax = Number.POSITIVE_INFINITY;
  ranges.length = 0;
  const { sha256: other, url: same } = serve('/a.tar.gz', 'top', { name: 'OTHER' });
  const { code, err } = await fetchTo('sha256', same, other);
  assert.is(code, 0, err);
  assert.equal(ranges, ['all'], 'the part of the old file was not used');
  assert.ok(existsSync(join(target(), 'top/database/OTHER')));
});

test('a wrong checksum, a link, and a path that strips everything leave no folder', async () => {
  const { url, md5 } = serve('/a.tgz', 'top');
  const wrong = await fetchTo(
    'md5',
    url,
    md5.replace(/./, (one) => (one === '0' ? '1' : '0')),
  );
  assert.is(wrong.code, 1);
  assert.match(wrong.err, 'has another checksum');
  assert.not.ok(existsSync(`${target()}.a.tgz`), 'the download is deleted');
  const linked = serve('/b.tgz', 'top', { link: true });
  assert.match((await fetchTo('md5', linked.url, linked.md5)).err, 'holds links or devices');
  assert.match((await fetchTo('md5', '--strip', '9', url, md5)).err, 'is --strip 9 right?');
  assert.not.ok(existsSync(target()));
});

test('without room, a checksum or the file itself nothing is downloaded', async () => {
  const { url, md5, content } = serve('/a.tgz', 'top');
  const huge = Object.assign(Buffer.from(content), {});
  Object.defineProperty(huge, 'length', { value: 2 ** 52 });
  served.set('/a.tgz', huge);
  assert.match((await fetchTo('md5', url, md5)).err, /\d+ GiB are needed beside .*, and \d+ GiB are free/);
  assert.is((await fetchTo('md5', url)).code, 2);
  assert.is((await fetchTo('crc', url, md5)).code, 2);
  assert.is((await fetchTo('md5', `${base}/a.zip`, md5)).code, 2);
  assert.match((await fetchTo('md5', `${base}/gone.tgz`, md5)).err, 'gone.tgz is not there');
  assert.equal(ranges, []);
});

const dayOf = (daysAgo: number): string =>
  new Date(Date.now() - daysAgo * 86_400_000).toISOString().slice(0, 10).replaceAll('-', '');

test('TRON: the newest lite database of the last two weeks is fetched, by its MD5', async () => {
  const { md5 } = serve(`/backup${dayOf(3)}/LiteFullNode_output-directory.tgz`, 'output-directory');
  const sumOf = (days: number) => `/backup${dayOf(days)}/LiteFullNode_output-directory.tgz.md5sum`;
  served.set(sumOf(3), Buffer.from(`${md5}  LiteFullNode_output-directory.tgz\n`));
  const sync = (mirror: string) => runScript(`${NODES}/tron/sync.sh`, [target()], { ...variables, MIRROR: mirror });
  const { code, err } = await sync(base);
  assert.is(code, 0, err);
  assert.ok(existsSync(join(target(), 'database/CURRENT')));
  rmSync(target(), { recursive: true });
  served.clear();
  assert.match((await sync(base)).err, 'has no database of the last two weeks');
});

needs('lz4')('BSC: every archive of the list is fetched, into one folder (needs lz4)', async () => {
  const base1 = serve('/base.tar.lz4', 'server/data-seed/geth/chaindata');
  const blocks = serve('/blocks.tar.lz4', 'server/data-seed/geth/chaindata', { name: 'BLOCKS' });
  const rows = ['filename,URL,md5,size', `b,${base1.url},${base1.md5},1GB`, `c,${blocks.url},${blocks.md5},0.00GB`];
  served.set('/lists/newest.csv', Buffer.from(rows.join('\r\n')));
  const sync = (list: string) =>
    runScript(`${NODES}/bsc/sync.sh`, [list, target()], { ...variables, LISTS: `${base}/lists` });
  const { code, err } = await sync('newest');
  assert.is(code, 0, err);
  assert.equal(readdirSync(join(target(), 'geth/chaindata/database')).sort(), ['BLOCKS', 'CURRENT']);
  assert.match((await sync('older')).err, 'there is no list older');
});

test('Ethereum and Solana: a secret that stays, the clients’ own downloads, and what would end a start', async () => {
  const bin = join(folder, 'work/bin');
  mkdirSync(bin);
  for (const name of ['reth', 'nimbus_beacon_node', 'solana-keygen']) {
    writeFileSync(join(bin, name), '#!/bin/sh\necho "$0 $*"\n', { mode: 0o755 });
  }
  const own = { ...variables, PATH: `${bin}:${variables.PATH}`, FOLDER: join(folder, 'work') };
  const ethereum = (client: string, more = {}) => runScript(`${NODES}/ethereum/sync.sh`, [client], { ...own, ...more });
  assert.is((await ethereum('jwt')).code, 0);
  const secret = read(join(folder, 'work/jwt.hex'));
  assert.match(secret, /^[0-9a-f]{64}\n$/);
  assert.is((await ethereum('jwt')).code, 0);
  assert.is(read(join(folder, 'work/jwt.hex')), secret);
  assert.match((await ethereum('reth')).out, `download --datadir ${folder}/work/reth --with-txs-distance 216000`);
  assert.is.not((await ethereum('nimbus')).code, 0, 'it needs a beacon node to trust');
  const nimbus = await ethereum('nimbus', { CHECKPOINT_URL: 'https://beacon.example' });
  assert.match(nimbus.out, '--trusted-node-url=https://beacon.example');
  assert.is((await ethereum('besu')).code, 2);

  const proc = join(folder, 'work/proc');
  for (const name of ['net/core', 'vm', 'fs']) mkdirSync(join(proc, 'sys', name), { recursive: true });
  writeFileSync(join(proc, 'meminfo'), 'MemTotal:       16000000 kB\n');
  writeFileSync(join(proc, 'cpuinfo'), 'flags : sse2\n');
  writeFileSync(join(proc, 'sys/vm/max_map_count'), '1000000\n');
  const solana = await runScript(`${NODES}/solana/sync.sh`, [join(folder, 'work/solana')], { ...own, PROC: proc });
  assert.is(solana.code, 1);
  for (const part of ['net.core.rmem_max is 0', 'memory in GiB is 15', 'has no AVX2', 'free GiB in'])
    assert.match(solana.err, part);
  assert.not.match(solana.err, 'vm.max_map_count');
  assert.match(solana.out, 'solana-keygen new');
});

test.run();
