/** Chunks of a sealed stream that were dropped, swapped, repeated or cut are noticed. */
import { randomBytes } from 'node:crypto';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { seal, unseal } from '../../../src/app/backup/sealed-stream.ts';

const passphrase = Buffer.from('correct horse battery');
const MIB = 2 ** 20;

async function* parts(bytes: Uint8Array, each: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += each) yield bytes.subarray(at, at + each);
}

async function all(stream: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const read: Uint8Array[] = [];
  for await (const part of stream) read.push(part);
  return Buffer.concat(read);
}

const plain = randomBytes(3 * MIB + 5);
const sealed = await all(seal(parts(plain, 70_000), passphrase));
const open = (bytes: Uint8Array) => all(unseal(parts(bytes, 99_991), passphrase, 'the file'));

test('what was sealed is opened, whatever its length', async () => {
  assert.ok((await open(sealed)).equals(plain));
  for (const length of [0, 1, MIB, 2 * MIB]) {
    const bytes = plain.subarray(0, length);
    const again = await open(await all(seal(parts(bytes, MIB), passphrase)));
    assert.ok(again.equals(bytes), `${length} bytes`);
  }
});

test('a chunk that is dropped, swapped, repeated or cut, or a changed first line, is refused', async () => {
  const start = sealed.indexOf(10) + 1;
  const line = sealed.subarray(0, start);
  const [a, b, c, d] = [0, 1, 2, 3].map((n) => {
    const from = start + n * (MIB + 16);
    return sealed.subarray(from, Math.min(from + MIB + 16, sealed.length));
  }) as [Buffer, Buffer, Buffer, Buffer];
  assert.is(d.length, 5 + 16);
  const touched: Record<string, Buffer[]> = {
    'last dropped': [line, a, b, c],
    'first dropped': [line, b, c, d],
    swapped: [line, b, a, c, d],
    repeated: [line, a, b, b, c, d],
    'last repeated': [line, a, b, c, d, d],
    'last one first': [line, d],
    'no chunk': [line],
    'a space in the line': [Buffer.from(line.toString().replace(',', ', ')), a, b, c, d],
  };
  for (const [what, chunks] of Object.entries(touched)) {
    const code = await open(Buffer.concat(chunks)).then(
      () => 'opened',
      (error) => error.code,
    );
    assert.is(code, 'backup_damaged', what);
  }
});

test.run();
