/** What a browser's form sends: typed fields, files in base64, and forms that are malformed. */
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { readForm } from '../../src/lib/form.ts';

const BYTES_MAX = 10_000;

const read = (type: string, body: string | Buffer) => {
  const request = Object.assign(Readable.from([Buffer.from(body)]), { headers: { 'content-type': type } });
  return readForm(request as unknown as IncomingMessage, BYTES_MAX);
};
const parts = (...all: readonly string[]): string => `${all.map((part) => `--b\r\n${part}\r\n`).join('')}--b--\r\n`;
const multipart = 'multipart/form-data; boundary=b';

test('typed fields of both kinds of form, and a body of another type', async () => {
  assert.equal(await read('application/x-www-form-urlencoded', 'name=Caf%C3%A9+1&x='), { name: 'Café 1', x: '' });
  const body = parts(
    'Content-Disposition: form-data; name="na me"\r\n\r\nCafé\r\n--c',
    'content-disposition: form-data; name=x\r\n\r\n',
  );
  assert.equal(await read(multipart, body), { 'na me': 'Café\r\n--c', x: '' });
  assert.equal(await read('application/json', '{}'), {});
});

test('a file is its bytes in base64, also one that was not chosen', async () => {
  const png = Buffer.from([0x89, 0x50, 0, 13, 10, 255]);
  const head = 'Content-Disposition: form-data; name="logo"; filename="ä.png"\r\nContent-Type: image/png\r\n\r\n';
  const body = Buffer.concat([Buffer.from(`--b\r\n${head}`), png, Buffer.from('\r\n--b--\r\n')]);
  assert.equal(await read(multipart, body), { logo: png.toString('base64') });
  const none =
    'Content-Disposition: form-data; name="logo"; filename=""\r\nContent-Type: application/octet-stream\r\n\r\n';
  assert.equal(await read(multipart, parts(none, 'Content-Disposition: form-data; name="a"\r\n\r\n1')), {
    logo: '',
    a: '1',
  });
});

test('a form without a boundary or without its end has no fields, and at most 50 parts are read', async () => {
  const field = (name: string) => `Content-Disposition: form-data; name="${name}"\r\n\r\n1`;
  assert.equal(await read('multipart/form-data', parts(field('a'))), {});
  assert.equal(await read(multipart, parts(field('a')).slice(0, -6)), {});
  const many = await read(multipart, parts(...Array.from({ length: 60 }, (_, at) => field(`f${at}`))));
  assert.is(Object.keys(many).length, 50);
});

test.run();
