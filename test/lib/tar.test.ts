/** Archives of files: what `tar` reads of ours, what we read of its, and what is refused. */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { readTar, type TarFile, writeTar } from '../../src/lib/tar.ts';

const folder = mkdtempSync(join(tmpdir(), 'quayside-tar-'));
test.after(() => rmSync(folder, { recursive: true, force: true }));

async function all(stream: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const read: Uint8Array[] = [];
  for await (const part of stream) read.push(part);
  return Buffer.concat(read);
}

async function* parts(bytes: Uint8Array, each: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += each) yield bytes.subarray(at, at + each);
}

const fileOf = (name: string, content: Uint8Array): TarFile => ({
  ...{ name, bytes: content.length, madeAtMs: 1_700_000_000_000, content: [content] },
});

/** Reads an archive, which comes in parts of `each` bytes. */
async function read(archive: Uint8Array, each = 700) {
  const files: { name: string; bytes: number; madeAtMs: number; content: Buffer; isEnded: boolean }[] = [];
  await readTar(parts(archive, each), (entry) => {
    const file = { ...entry, content: Buffer.alloc(0), isEnded: false };
    files.push(file);
    return {
      write(part) {
        file.content = Buffer.concat([file.content, part]);
      },
      end() {
        file.isEnded = true;
      },
    };
  });
  return files;
}

test('files of any size are read as they were written, whatever the parts', () =>
  fc.assert(
    fc.asyncProperty(
      fc.array(fc.uint8Array({ maxLength: 1_600 }), { maxLength: 4 }),
      fc.integer({ min: 1, max: 3_000 }),
      async (contents, each) => {
        const archive = await all(writeTar(contents.map((content, at) => fileOf(`${at}.bin`, content))));
        const found = await read(archive, each);
        assert.equal(
          found.map(({ name, content }) => [name, content]),
          contents.map((content, at) => [`${at}.bin`, Buffer.from(content)]),
        );
        assert.ok(found.every(({ isEnded, madeAtMs }) => isEnded && madeAtMs === 1_700_000_000_000));
      },
    ),
  ));

test('tar unpacks ours, and its own is read', async () => {
  const archive = join(folder, 'ours.tar');
  writeFileSync(archive, await all(writeTar([fileOf('a.txt', Buffer.from('one')), fileOf('b', Buffer.alloc(513, 7))])));
  execFileSync('tar', ['-xf', archive, '-C', folder]);
  assert.is(readFileSync(join(folder, 'a.txt'), 'utf8'), 'one');
  assert.equal(readFileSync(join(folder, 'b')), Buffer.alloc(513, 7));
  const { mode, mtimeMs } = statSync(join(folder, 'b'));
  assert.equal([mode & 0o777, mtimeMs], [0o600, 1_700_000_000_000]);
  const theirs = execFileSync('tar', ['-cf', '-', '--format=ustar', '-C', folder, 'a.txt', 'b']);
  assert.equal(
    (await read(theirs)).map(({ name, bytes }) => [name, bytes]),
    [
      ['a.txt', 3],
      ['b', 513],
    ],
  );
});

test('a size above 8 GiB is one that tar shows too', async () => {
  const bytes = 9 * 2 ** 30;
  const [header = new Uint8Array()] = [(await writeTar([{ ...fileOf('big', Buffer.alloc(0)), bytes }]).next()).value];
  // Its content is missing, so tar complains at the end.
  const { stdout } = spawnSync('tar', ['-tvf', '-'], { input: header, encoding: 'utf8' });
  assert.match(stdout, ` ${bytes} `);
});

test('links, altered headers, and archives that end early are refused', async () => {
  const whole = await all(writeTar([fileOf('a.txt', Buffer.alloc(2_000))]));
  const fails = (bytes: Uint8Array) =>
    read(bytes).then(
      () => '',
      (error) => error.message,
    );
  assert.match(await fails(whole.subarray(0, 1_000)), 'ends within');
  assert.match(await fails(whole.subarray(0, 512 + 2_048)), 'ends within', 'without its end');
  assert.match(await fails(whole.map((byte, at) => (at === 3 ? byte ^ 1 : byte))), 'another checksum');
  symlinkSync('/etc/passwd', join(folder, 'link'));
  assert.match(await fails(execFileSync('tar', ['-cf', '-', '-C', folder, 'link'])), 'link is no file');
});

test.run();
