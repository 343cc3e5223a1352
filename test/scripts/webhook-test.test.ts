/** `quayside webhook test` sends one signed event to a real server and shows what it answers. */
import { createHmac } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HDKey } from '@scure/bip32';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { startMerchantServer } from '../support/merchant-server.ts';
import { runQuayside } from '../support/quayside-process.ts';

const folder = mkdtempSync(join(tmpdir(), 'quayside-webhook-test-'));
const file = join(folder, 'quayside.json');
const xpub = HDKey.fromMasterSeed(new Uint8Array(32).fill(3)).derive("m/44'/60'/0'/0").publicExtendedKey;
writeFileSync(
  file,
  JSON.stringify({
    data_dir: 'data',
    networks: { sepolia: { url: 'ws://127.0.0.1:1', xpub } },
    webhooks: { allow_cidrs: ['127.0.0.0/8'] },
  }),
);
const server = await startMerchantServer((response, { path }) => {
  if (path === '/good') response.writeHead(200).end('{"received":true}');
  else response.writeHead(403).end('<title>Blocked\u001b[2J</title>');
});
test.after(async () => {
  await server.close();
  rmSync(folder, { recursive: true, force: true });
});

const run = (...words: string[]) => runQuayside(words, { QUAYSIDE_CONFIG: file });
async function add(url: string) {
  const { code, out, err } = await run('webhook', 'add', url, '--mode', 'test', '--json');
  assert.is(code, 0, err);
  return JSON.parse(out);
}

test('the event is signed with the endpoint’s secret, has its mode, and the answer is shown', async () => {
  await run('store', 'add', 'Shop');
  const { id, webhook_secret: secret } = await add(`${server.origin}/good`);
  const { code, out } = await run('webhook', 'test', id, '--json');
  assert.is(code, 0, out);
  const shown = JSON.parse(out);
  assert.equal([shown.delivered, shown.status, shown.error, shown.answer], [true, 200, null, '{"received":true}']);
  const [received] = server.on('/good');
  assert.ok(received);
  const { headers, body } = received;
  const signed = `${headers['x-service-timestamp']}.${headers['x-service-nonce']}.${body}`;
  assert.is(headers['x-service-signature'], createHmac('sha256', secret).update(signed).digest('hex'));
  assert.equal([headers['x-service-mode'], headers['x-service-event-type']], ['test', 'webhook.test']);
  const event = JSON.parse(body);
  assert.equal([event.id, event.type, event.livemode], [shown.event, 'webhook.test', false]);
  assert.equal(JSON.parse((await run('webhook', 'list', '--json')).out).deliveries, [], 'nothing is kept');
});

test('a refusal and a server that is not there end with 1 and say why; an unknown endpoint with 3', async () => {
  const refusing = await run('webhook', 'test', (await add(`${server.origin}/blocked`)).id);
  assert.is(refusing.code, 1);
  assert.match(refusing.out, /answered 403 after \d+ ms/);
  assert.match(refusing.out, /what is wrong: it refuses: .* \(403\), with the page "Blocked/);
  assert.ok(refusing.out.includes('<title>Blocked\\u001b[2J</title>'), refusing.out);
  const gone = await startMerchantServer((response) => void response.end());
  await gone.close();
  const absent = await run('webhook', 'test', (await add(`${gone.origin}/hook`)).id);
  assert.is(absent.code, 1);
  assert.match(absent.out, /gave no answer: connect/);
  assert.match(absent.out, /what is wrong: no connection: nothing listens there/);
  assert.is((await run('webhook', 'test', 'we_none')).code, 3);
});

test.run();
