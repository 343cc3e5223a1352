/** `quayside webhook test` sends one signed event to a real server and shows what it answers. */
import { createHmac } from 'node:crypto';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { startMerchantServer } from '../support/merchant-server.ts';
import { openToolBench } from '../support/tool-bench.ts';

const { run, answer, close } = await openToolBench({ settings: { webhooks: { allow_cidrs: ['127.0.0.0/8'] } } });
const server = await startMerchantServer((response, { path }) => {
  if (path === '/good') response.writeHead(200).end('{"received":true}');
  else response.writeHead(403).end('<title>Blocked\u001b[2J</title>');
});
test.after(async () => {
  await server.close();
  close();
});
const add = (url: string) => answer('webhook', 'add', url, '--mode', 'test');

test('the event is signed with the endpoint’s secret, has its mode, and the answer is shown', async () => {
  const { id, webhook_secret: secret } = await add(`${server.origin}/good`);
  const shown = await answer('webhook', 'test', id);
  assert.equal([shown.delivered, shown.status, shown.error, shown.answer], [true, 200, null, '{"received":true}']);
  const [received] = server.on('/good');
  assert.ok(received);
  const { headers, body } = received;
  const signed = `${headers['x-service-timestamp']}.${headers['x-service-nonce']}.${body}`;
  assert.is(headers['x-service-signature'], createHmac('sha256', secret).update(signed).digest('hex'));
  assert.equal([headers['x-service-mode'], headers['x-service-event-type']], ['test', 'webhook.test']);
  const event = JSON.parse(body);
  assert.equal([event.id, event.type, event.livemode], [shown.event, 'webhook.test', false]);
  assert.equal((await answer('show', id)).recent, { delivered: 0, failed: 0 }, 'nothing is kept');
});

test('a refusal and a server that is not there end with 1 and say why; an unknown endpoint with 3', async () => {
  const refusing = await run('webhook', 'test', (await add(`${server.origin}/blocked`)).id);
  assert.is(refusing.code, 1);
  assert.match(refusing.out, /answered 403 after \d+ ms/);
  assert.match(refusing.out, /is not 2xx: it answers 403, with the page "Blocked/);
  assert.ok(refusing.out.includes('<title>Blocked\\u001b[2J</title>'), refusing.out);
  const gone = await startMerchantServer((response) => void response.end());
  await gone.close();
  const absent = await run('webhook', 'test', (await add(`${gone.origin}/hook`)).id);
  assert.is(absent.code, 1);
  assert.match(absent.out, /gave no answer after/);
  assert.match(absent.out, /is not 2xx: no answer: connect/);
  assert.is((await run('webhook', 'test', 'we_none')).code, 3);
});

test.run();
