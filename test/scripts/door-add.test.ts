/** `quayside door add` prints a key once; the commands of webhooks show, switch off and remove the door. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openToolBench } from '../support/tool-bench.ts';

const { run, answer, close } = await openToolBench();
test.after(close);

test('a door is added with its pid and key, listed among webhooks without it, and closed', async () => {
  const added = await answer('door', 'add', 'epay', 'currency=usd', '--mode', 'test');
  const { id, pid, key, url } = added;
  assert.match(key, /^[A-Za-z0-9]{32}$/);
  assert.equal([pid, url.endsWith('/1001/')], [1001, true]);
  const shown = (await run('door', 'add', 'gmpay', 'algorithm=hmac_sha256', '--mode', 'live')).out;
  assert.match(shown, /Save the key now: it is not shown again[\s\S]*key +[A-Za-z0-9]{32}\n/);

  const listed = await answer('webhook', 'list');
  const own = listed.find((one: Readonly<{ id: string }>) => one.id === id);
  assert.equal([own.dialect, own.pid, own.url], ['epay', 1001, url]);
  assert.not(JSON.stringify(listed).includes(key));
  const test = await run('webhook', 'test', id);
  assert.match(test.err, /a door gets no test event/);
  for (const step of [[], ['start']]) {
    const secret = await run('webhook', 'secret', id, ...step);
    assert.match(secret.err, /The key of a door is shown once/);
    assert.not((secret.out + secret.err).includes(key));
  }
  assert.is((await run('webhook', 'set', id, '--state', 'off')).code, 0);
  assert.is((await answer('webhook', 'remove', id)).removed, true);
});

test('a wrong protocol, currency or signature is refused with what is expected', async () => {
  const wrong = [
    [['paypal'], /none of these: epay, epusdt, gmpay, bepusdt/],
    [['epay', 'currency=CNH'], /"CNH" is no currency/],
    [['epay', 'algorithm=dual'], /Only gmpay has several signatures/],
  ] as const;
  for (const [args, message] of wrong) assert.match((await run('door', 'add', ...args, '--mode', 'test')).err, message);
});

test.run();
