/** Mail servers by their URL, and addresses. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { isMailAddress, readMailServer } from '../../src/lib/mail-server.ts';

test('a URL says how mail is sent, and never without TLS to another machine', () => {
  const of = (text: string) => {
    const server = readMailServer(text);
    return server && [server.host, server.port, server.security, server.user, server.password];
  };
  assert.equal(of('smtps://ann:p%40ss@mail.example'), ['mail.example', 465, 'tls', 'ann', 'p@ss']);
  assert.equal(of('smtp://mail.example:2525/'), ['mail.example', 2525, 'starttls', null, null]);
  assert.equal(of('smtp://127.0.0.1:25'), ['127.0.0.1', 25, 'none', null, null]);
  assert.equal(of('smtp://[::1]'), ['::1', 587, 'none', null, null]);
  assert.is(of('smtp://127.0.0.1.evil.example')?.[2], 'starttls');
  for (const bad of [
    '',
    'http://mail.example',
    'smtp://',
    'smtp://m.example/x',
    'smtp://m.example?tls=no',
    'smtp://a%:b@m.example',
  ]) {
    assert.is(readMailServer(bad), null, bad);
  }
});

test('an address is one address and nothing else', () => {
  for (const good of ['ann@shop.example', 'a.b+c@x.example', "o'neil@a-b.example"])
    assert.ok(isMailAddress(good), good);
  for (const bad of [
    ...['', 'ann', 'ann@', '@shop.example', 'ann@shop', 'a@b@shop.example', 'ann@shop.example,eve@evil.example'],
    ...[
      'Ann <ann@shop.example>',
      'ann@shop.example\r\nBcc: eve@evil.example',
      'ann@shop.example ',
      '"a b"@shop.example',
    ],
    ...['ann@-shop.example', 'ann@[127.0.0.1]', `${'a'.repeat(65)}@shop.example`, `ann@${'a.'.repeat(130)}example`],
  ]) {
    assert.not.ok(isMailAddress(bad), JSON.stringify(bad));
  }
});

test.run();
