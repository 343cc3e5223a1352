/**
 * `quayside node snapshot` from a file server that cuts connections, changes the file or cannot resume; archives that
 * are damaged or hostile; and disks that fill up. The archives are made by the system's tar.
 */

import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
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
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { fetchSnapshot } from '../../scripts/nodes/snapshot.ts';
import { unpackTar } from '../../scripts/nodes/tar-unpack.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { runQuayside } from '../support/quayside-process.ts';

const folder = mkdtempSync(join(tmpdir(), 'quayside-node-snapshot-'));
const from = join(folder, 'from');
const longName = `database/${'n'.repeat(120)}/${'m'.repeat(120)}.sst`;
const content: Record<string, Buffer> = {
  'output/database/big.sst': Buffer.alloc(700_001, 'quayside '),
  'output/database/empty.log': Buffer.alloc(0),
  [`output/${longName}`]: Buffer.from('long'),
  'output/CURRENT': Buffer.alloc(512, 7),
};
for (const [name, bytes] of Object.entries(content)) {
  mkdirSync(join(from, name, '..'), { recursive: true });
  writeFileSync(join(from, name), bytes);
}

function tar(name: string, ...words: string[]): Buffer {
  const file = join(folder, name);
  const { status, stderr } = spawnSync('tar', ['-C', from, ...words, '-cf', file, 'output'], { encoding: 'utf8' });
  assert.is(status, 0, stderr);
  return readFileSync(file);
}

type Behaviour = {
  bytes: Buffer;
  cutAfter: number | null;
  canResume: boolean;
  etag: string;
  checksum: string | null;
  requests: string[];
  /** The only path that there is; null: every path. */
  only: string | null;
};
const served: Behaviour = {
  bytes: Buffer.alloc(0),
  cutAfter: null,
  canResume: true,
  etag: '"1"',
  checksum: null,
  requests: [],
  only: null,
};
const server = createServer((request, response) => {
  const path = request.url ?? '';
  if (/\.(sha256|sha256sum|md5|md5sum)$/.test(path)) {
    const isThere = served.checksum !== null && path.endsWith('.md5sum');
    response.writeHead(isThere ? 200 : 404).end(isThere ? `${served.checksum}  snapshot.tgz\n` : '');
    return;
  }
  if (served.only !== null && path !== served.only) {
    response.writeHead(404).end();
    return;
  }
  const { range = '' } = request.headers;
  served.requests.push(range);
  const [, start] = /^bytes=(\d+)-$/.exec(range) ?? [];
  const isPart = start !== undefined && served.canResume && request.headers['if-range'] === served.etag;
  const at = isPart ? Number(start) : 0;
  const rest = served.bytes.subarray(at);
  response.writeHead(isPart ? 206 : 200, {
    'content-length': rest.length,
    etag: served.etag,
    ...(served.canResume && { 'accept-ranges': 'bytes' }),
    ...(isPart && { 'content-range': `bytes ${at}-${served.bytes.length - 1}/${served.bytes.length}` }),
  });
  if (served.cutAfter === null || rest.length <= served.cutAfter) response.end(rest);
  else response.write(rest.subarray(0, served.cutAfter), () => setTimeout(() => response.destroy(), 20));
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
test.after(() => {
  server.closeAllConnections();
  server.close();
  rmSync(folder, { recursive: true, force: true });
});
let count = 0;
test.before.each(() => {
  count += 1;
  Object.assign(served, { cutAfter: null, canResume: true, etag: '"1"', checksum: null, requests: [], only: null });
});

const target = (): string => join(folder, `to-${count}`);
const snapshot = (name: string, ...words: string[]) =>
  runQuayside(['node', 'snapshot', `${base}/${name}`, '--into', target(), ...words], {});
const sha256 = (): string => createHash('sha256').update(served.bytes).digest('hex');

function assertComplete(strip: string): void {
  for (const [name, bytes] of Object.entries(content))
    assert.ok(readFileSync(join(target(), name.replace(strip, ''))).equals(bytes), name);
}

/** Asserts that nothing of a snapshot was kept. */
function assertNothing(): void {
  assert.equal(
    readdirSync(folder).filter((name) => name.startsWith(`to-${count}`)),
    [],
  );
}

test('archives of every format are unpacked, in GNU’s and in pax’s way of long names', async () => {
  const formats = [
    ['a.tar', '--format=gnu'],
    ['b.tgz', '--format=pax', '-z'],
    ['c.tar.gz', '--format=ustar', '-z', '--exclude=n*'],
  ] as const;
  for (const [name, ...words] of formats) {
    served.bytes = tar(name, ...words);
    const { code, out, err } = await snapshot(name, '--sha256', sha256(), '--strip', '1');
    assert.equal([code, err], [0, ''], out);
    assert.ok(
      readFileSync(join(target(), 'database/big.sst')).equals(content['output/database/big.sst'] as Buffer),
      name,
    );
    assert.is(existsSync(join(target(), longName)), !name.startsWith('c'));
    if (!name.startsWith('c')) assertComplete('output/');
    assert.is(JSON.parse(readFileSync(`${target()}.source.json`, 'utf8')).sha256, sha256());
    count += 1;
  }
});

for (const [ending, program] of [
  ['zst', 'zstd'],
  ['lz4', 'lz4'],
] as const) {
  const isThere = spawnSync(program, ['--version']).status === 0;
  (isThere ? test : test.skip)(
    `a .tar.${ending} is unpacked with ${program}, and a damaged one is refused`,
    async () => {
      served.bytes = spawnSync(program, ['-c'], { input: tar('z.tar'), maxBuffer: 1 << 24 }).stdout;
      assert.is((await snapshot(`x.tar.${ending}`, '--sha256', sha256())).code, 0);
      assertComplete('');
      count += 1;
      served.bytes = Buffer.from(served.bytes).fill(0xff, 40, 200);
      const { code, err } = await snapshot(`x.tar.${ending}`, '--sha256', sha256());
      assert.is(code, 1);
      assert.match(err, 'cannot be decompressed');
      assertNothing();
    },
  );
}

test('a connection that is cut again and again goes on where it was', async () => {
  served.bytes = tar('cut.tar');
  served.cutAfter = 300_000;
  const { code, out } = await snapshot('cut.tar', '--sha256', sha256(), '--json');
  assert.is(code, 0, out);
  assert.ok(JSON.parse(out).cuts >= 2, out);
  assert.equal(served.requests.slice(0, 2), ['', 'bytes=300000-']);
  assertComplete('');
});

test('--keep: a command that was ended goes on where it was, and what was kept is removed in the end', async () => {
  // Large enough to arrive in pieces.
  writeFileSync(join(from, 'output/more'), Buffer.alloc(3 << 20, 'more '));
  served.bytes = tar('keep.tar');
  rmSync(join(from, 'output/more'));
  const hex = sha256();
  const common = { url: `${base}/keep.tar`, folder: target(), strip: 0, clock: systemClock, onProgress: () => {} };
  const checksum = { kind: 'sha256', hex, from: 'a test' } as const;
  const GIB = 1 << 30;
  served.cutAfter = 1_000_000;
  served.canResume = true;
  // As a command that is ended does, it leaves what has arrived.
  let looks = 0;
  const ending = async () => {
    looks += 1;
    if (looks > 1) throw new Error('ended');
    setTimeout(() => Object.assign(served, { canResume: false }), 0);
    return 50 * GIB;
  };
  await fetchSnapshot({ ...common, checksum, isKept: true, readFree: ending }).then(
    () => assert.unreachable('it cannot be complete'),
    (error: Error) => assert.match(error.message, /another file there by now|cannot go on|ended/),
  );
  const part = `${target()}.archive.part`;
  const kept = readFileSync(part).length;
  assert.ok(kept > 0 && kept < served.bytes.length, `${kept}`);
  assert.is(existsSync(target()), false);
  Object.assign(served, { canResume: true, cutAfter: null, requests: [] });
  const { code, err } = await snapshot('keep.tar', '--sha256', hex, '--keep');
  assert.equal([code, err], [0, '']);
  assert.ok(served.requests.includes(`bytes=${kept}-`), `${served.requests}`);
  assertComplete('');
  assert.equal([existsSync(part), existsSync(`${target()}.archive`)], [false, false]);

  count += 1;
  const wrong = await snapshot('keep.tar', '--sha256', '0'.repeat(64), '--keep');
  assert.is(wrong.code, 1);
  assertNothing();
});

test('a network: the newest snapshot that its publisher has is taken, by the recipe', async () => {
  served.bytes = tar('lite.tgz', '-z');
  served.checksum = createHash('md5').update(served.bytes).digest('hex');
  const threeDaysAgo = new Date(systemClock.nowMs() - 3 * 86_400_000).toISOString().slice(0, 10).replaceAll('-', '');
  served.only = `/backup${threeDaysAgo}/LiteFullNode_output-directory.tgz`;
  const words = ['node', 'snapshot', 'tron', '--mirror', `${base}/`, '--into', target()];
  const { code, err } = await runQuayside(words, {});
  assert.equal([code, err], [0, '']);
  assertComplete('output/');
  assert.is(JSON.parse(readFileSync(`${target()}.source.json`, 'utf8')).source, `${base}${served.only}`);
  count += 1;
  served.only = '/nowhere';
  const none = await runQuayside(['node', 'snapshot', 'tron', '--mirror', base, '--into', target()], {});
  assert.equal([none.code, /no snapshot of tron of the last 14 days/.test(none.err)], [2, true]);
  const unknown = await runQuayside(['node', 'snapshot', 'ethereum', '--into', target()], {});
  assert.equal([unknown.code, /no recipe knows snapshots of "ethereum"/.test(unknown.err)], [2, true]);
});

test('a file that is another one by then, and a server that cannot go on, end it, and nothing is kept', async () => {
  served.bytes = tar('cut.tar');
  served.cutAfter = 300_000;
  const running = snapshot('cut.tar', '--sha256', sha256());
  while (served.requests.length === 0) await systemClock.sleep(5);
  served.etag = '"2"';
  const changed = await running;
  assert.is(changed.code, 1);
  assert.match(changed.err, 'another file');
  assertNothing();
  served.canResume = false;
  const stuck = await snapshot('cut.tar', '--sha256', sha256());
  assert.is(stuck.code, 1);
  assert.match(stuck.err, /after \d+ of \d+ bytes; this server cannot go on/);
  assertNothing();
});

test('checksums: the one beside the file is found, a wrong one refuses everything, none must be accepted', async () => {
  served.bytes = tar('sum.tgz', '-z');
  served.checksum = createHash('md5').update(served.bytes).digest('hex');
  const found = await snapshot('sum.tgz');
  assert.is(found.code, 0, found.err);
  assert.match(found.out, /its md5 is what .*sum\.tgz\.md5sum says, by plain http/);
  count += 1;
  served.checksum = '0'.repeat(32);
  const wrong = await snapshot('sum.tgz');
  assert.is(wrong.code, 1);
  assert.match(wrong.err, /the md5 of the download is [0-9a-f]{32}, and .* says 0{32}/);
  assertNothing();
  served.checksum = null;
  const none = await snapshot('sum.tgz');
  assert.equal([none.code, /has no checksum/.test(none.err)], [2, true]);
  const accepted = await snapshot('sum.tgz', '--without-checksum');
  assert.is(accepted.code, 0);
  assert.match(accepted.out, 'no checksum was known');
});

test('a folder with something in it, another download, and unknown formats are refused before anything is fetched', async () => {
  served.bytes = tar('a.tar');
  mkdirSync(target());
  writeFileSync(join(target(), 'LOCK'), '');
  assert.match((await snapshot('a.tar', '--without-checksum')).err, 'is not empty');
  rmSync(join(target(), 'LOCK'));
  mkdirSync(`${target()}.unverified`);
  assert.match((await snapshot('a.tar', '--without-checksum')).err, 'another download runs');
  assert.ok(existsSync(`${target()}.unverified`), 'it is not ours to remove');
  rmSync(`${target()}.unverified`, { recursive: true });
  assert.match((await snapshot('a.zip', '--without-checksum')).err, 'is none of .tar');
  assert.is((await snapshot('a.tar', '--without-checksum')).code, 0, 'an empty folder is replaced');
  assert.is((await runQuayside(['node', 'snapshot', 'ftp://x/a.tar', '--into', 'x'], {})).code, 2);
});

test('a disk that is too small is refused before, and one that fills up stops it, and nothing is kept', async () => {
  served.bytes = tar('a.tar');
  const GIB = 1 << 30;
  const fetchWith = async (free: () => number, strip = 0) => {
    const common = { url: `${base}/a.tar`, folder: target(), strip, checksum: null, clock: systemClock };
    try {
      await fetchSnapshot({ ...common, readFree: async () => free(), onProgress: () => {} });
      return 'done';
    } catch (error) {
      return (error as Error).message;
    }
  };
  assert.match(await fetchWith(() => 5 * GIB), /5\.0 GiB left, and 5\.0 GiB are needed/);
  assert.equal(served.requests.length, 1);
  assertNothing();
  // 36 MiB, so that the disk is looked at on the way.
  writeFileSync(join(from, 'output/large'), Buffer.alloc(36 << 20));
  served.bytes = tar('large.tar');
  rmSync(join(from, 'output/large'));
  let looks = 0;
  const filling = () => {
    looks += 1;
    return looks < 3 ? 6 * GIB : GIB;
  };
  assert.match(await fetchWith(filling), '1.0 GiB left');
  assert.is(looks, 3);
  assertNothing();
});

/** One entry of a tar archive. */
function entry(name: string, type: string, text = '', link = ''): Buffer {
  const block = Buffer.alloc(512);
  block.write(name, 0);
  block.write('0000644\0', 100);
  block.write(`${Buffer.byteLength(text).toString(8).padStart(11, '0')}\0`, 124);
  block.write(type, 156);
  block.write(link, 157);
  block.write('ustar\x0000', 257);
  block.fill(0x20, 148, 156);
  const sum = block.reduce((all, byte) => all + byte, 0);
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  const body = Buffer.alloc(Math.ceil(text.length / 512) * 512);
  body.write(text);
  return Buffer.concat([block, body]);
}
const archive = (...entries: readonly Buffer[]): Buffer => Buffer.concat([...entries, Buffer.alloc(1024)]);
const pax = (key: string, value: string): string => {
  const length = key.length + value.length + 5;
  return `${length} ${key}=${value}\n`;
};

const hostiles: readonly (readonly [what: string, bytes: Buffer])[] = [
  ['an absolute path', archive(entry('/tmp/quayside-escaped', '0', 'x'))],
  ['a path that climbs', archive(entry('a/../../escaped', '0', 'x'))],
  ['a folder that climbs', archive(entry('../escaped', '5'))],
  ['a path that climbs in a long name', archive(entry('././@LongLink', 'L', '../escaped\0'), entry('x', '0', 'x'))],
  ['a path that climbs in a pax header', archive(entry('h', 'x', pax('path', '../escaped')), entry('x', '0', 'x'))],
  ['a symbolic link', archive(entry('link', '2', '', '..'), entry('link/escaped', '0', 'x'))],
  ['a hard link', archive(entry('link', '1', '', '/etc/passwd'))],
  ['a device', archive(entry('disk', '4'))],
  ['a pipe', archive(entry('pipe', '6'))],
  ['a file twice', archive(entry('x', '0', '1'), entry('x', '0', '2'))],
  ['a header without end', archive(entry('h', 'x', 'x'.repeat(1 << 20)), entry('h', 'x', 'x'.repeat((1 << 20) + 1)))],
  ['a size that is none', archive(entry('h', 'x', pax('size', '1e999')), entry('x', '0', 'x'))],
];
for (const [what, bytes] of hostiles) {
  test(`an archive with ${what} is refused, and writes nothing outside or inside`, async () => {
    served.bytes = bytes;
    const before = readdirSync(folder).sort();
    const { code, err } = await snapshot('bad.tar', '--sha256', sha256());
    assert.is(code, 1, err);
    assert.match(err, 'do not use this source');
    assert.equal(readdirSync(folder).sort(), before);
    assert.not.ok(existsSync('/tmp/quayside-escaped'));
  });
}

test('real links in a real archive are refused, and archives that end early or are none', async () => {
  symlinkSync('/etc', join(from, 'output/etc'));
  served.bytes = tar('links.tar');
  rmSync(join(from, 'output/etc'));
  assert.match((await snapshot('links.tar', '--sha256', sha256())).err, 'neither a file nor a folder (type 2)');
  served.bytes = tar('a.tar').subarray(0, 100_000);
  assert.match((await snapshot('a.tar', '--sha256', sha256())).err, 'ends in the middle');
  served.bytes = Buffer.alloc(4096, 'no tar at all ');
  assert.match((await snapshot('a.tar', '--sha256', sha256())).err, 'is no tar archive');
  served.bytes = archive(entry('a', '0', 'x'), entry('a/b', '0', 'x'));
  assert.match((await snapshot('a.tar', '--sha256', sha256())).err, 'the same name twice');
  assertNothing();
});

test('an archive is read the same, however its bytes are cut into pieces', async () => {
  const bytes = tar('pieces.tar');
  for (const size of [1, 511, 512, 513, 70_000]) {
    async function* pieces() {
      const end = size === 1 ? 20_000 : bytes.length;
      for (let at = 0; at < end; at += size) yield bytes.subarray(at, at + size);
      yield bytes.subarray(Math.max(0, Math.ceil(end / size) * size));
    }
    const into = join(folder, `pieces-${size}`);
    mkdirSync(into);
    const { files } = await unpackTar(pieces(), into, 0, async () => {});
    assert.is(files, Object.keys(content).length);
    for (const [name, wanted] of Object.entries(content))
      assert.ok(readFileSync(join(into, name)).equals(wanted), name);
  }
});

test.run();
