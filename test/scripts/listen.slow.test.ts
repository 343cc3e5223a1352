/** `quayside listen` as a developer runs it: one secret, kept; Ctrl-C ends it well; a live key is refused. */
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { startApi } from '../support/api-server.ts';
import { quayside } from '../support/built.ts';
import { startMerchantServer } from '../support/merchant-server.ts';
import { runProgram } from '../support/quayside-process.ts';
import { until } from '../support/until.ts';

const folder = mkdtempSync(join(tmpdir(), 'quayside-listen-'));
const api = await startApi();
// The program has the clock of this machine.
api.clock.advance(Date.now() - api.clock.nowMs());
await api.follow();
const handler = await startMerchantServer((response) => void response.writeHead(200).end());
test.after(async () => {
  await handler.close();
  await api.close();
  rmSync(folder, { recursive: true, force: true });
});

const { apiKey, apiSecret, baseUrl } = api.testKey;
const variables = {
  QUAYSIDE_DATA_DIR: folder,
  API_KEY: apiKey,
  API_SECRET: apiSecret,
  BASE_URL: baseUrl,
};
const words = ['listen', '--url', `${handler.origin}/hooks`];

/** Runs it until it has forwarded one event, then presses Ctrl-C. */
async function session(orderId: string): Promise<Readonly<{ code: number | null; out: string }>> {
  const child = spawn(process.execPath, [quayside, ...words], { env: { ...process.env, ...variables } });
  const said: string[] = [];
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => said.push(String(chunk)));
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
  const out = () => said.join('');
  await until('it listens', () => out().includes('Ctrl-C ends') || child.exitCode !== null);
  // It begins with the next event after its first question, which takes a moment.
  for (let n = 0; !out().includes(orderId) && child.exitCode === null; n++) {
    const body = { amount: 1050, currency: 'USD', order_id: `${orderId}-${n}` };
    const { json } = await api.send('POST', '/api/v1/checkout/sessions/create', body);
    await api.send('POST', `/api/v1/checkout/sessions/${(json as { id: string }).id}/cancel`);
    await new Promise((resolve) => setTimeout(resolve, 300));
  }
  child.kill('SIGINT');
  return { code: await ended, out: out() };
}

test('the secret is printed once and kept for its owner; each event is a line; Ctrl-C ends with 0', async () => {
  const first = await session('first');
  assert.is(first.code, 0, first.out);
  const file = join(folder, 'listen.secret');
  const [, secret = ''] = /^webhook secret (whsec_\S+) \(kept in/m.exec(first.out) ?? [];
  assert.ok(secret, first.out);
  assert.is(statSync(file).mode & 0o777, 0o600);
  assert.match(first.out, /payment\.cancelled {2}evt_\d{19} {2}order first-\d+ {2}200 \(\d+ ms\)/);
  const second = await session('second');
  assert.is(second.code, 0, second.out);
  assert.ok(second.out.includes(`webhook secret: as before, in ${file}`), second.out);
  assert.not.ok(second.out.includes(secret));
});

test('wrong options, no key and a live key end with 2', async () => {
  const { QUAYSIDE_DATA_DIR } = variables;
  for (const [more, args, expected] of [
    [variables, ['listen'], /required option '--url/],
    [variables, [...words, '--events', 'payment.nothing'], /expected payment\.completed/],
    [variables, [...words, '--frob'], /frob/],
    [{ QUAYSIDE_DATA_DIR }, words, /there is no test key/],
    [{ ...variables, API_KEY: api.liveKey.apiKey }, words, /is a live key/],
  ] as const) {
    const { code, stderr } = await runProgram(['scripts/quayside.mjs', ...args], more);
    assert.is(code, 2, stderr);
    assert.match(stderr, expected);
  }
  assert.ok(existsSync(folder));
});

test.run();
