/**
 * The payment page on the sandbox that `npm start` runs: payments on every network, and every state by simulation, from
 * the panel (as a form, without scripts) and from the API.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { readCredentials } from '../../src/app/sandbox-credentials.ts';
import { find, runProgram, type Supervisor, sandboxInstallation } from '../support/quayside-process.ts';
import { exchange, type HttpAnswer, type SignedClient, signedClient } from '../support/signed-client.ts';

type Option = Readonly<{ network: string; currency: string; address: string }>;
type Created = Readonly<{ id: string; url: string; payment_options: readonly Option[] }>;
type World = { folder: string; supervisor: Supervisor; baseUrl: string; client: SignedClient };

const test = suite<World>('the payment page in the sandbox');
let orders = 0;

test.before(async (world) => {
  world.folder = mkdtempSync(join(tmpdir(), 'quayside-page-'));
  world.supervisor = await sandboxInstallation(world.folder).start();
  const credentials = readCredentials(world.folder);
  assert.ok(credentials);
  const { base_url: baseUrl, api_key: apiKey, api_secret: apiSecret } = credentials;
  world.baseUrl = baseUrl;
  world.client = signedClient({ baseUrl, apiKey, apiSecret }, () => Math.floor(Date.now() / 1000));
});
test.after(async ({ folder, supervisor }) => {
  await supervisor.end('SIGTERM');
  rmSync(folder, { recursive: true });
});

async function create({ client }: World, currency = 'USD'): Promise<Created> {
  orders++;
  const body = { amount: 1050, currency, order_id: `order-${orders}` };
  const { status, text, json } = await client.send('POST', '/api/v1/checkout/sessions/create', body);
  assert.is(status, 200, text);
  return json as Created;
}

const simulate = ({ client }: World, id: string, body: object): Promise<HttpAnswer> =>
  client.send('POST', `/api/v1/test/sessions/${id}/simulate`, body);

const headlineOf = (html: string) => /<h1[^>]*>([^<]*)</.exec(html)?.[1] ?? '';

const says = (url: string, headline: RegExp) =>
  find(`${url} says ${headline}`, async () => headline.test(headlineOf((await exchange('GET', url)).text)));

/** Presses a button of the panel like a browser without scripts. */
async function press(url: string, action: string): Promise<HttpAnswer> {
  const { text } = await exchange('GET', url);
  const target = /<form method="post" action="([^"]+\/simulate[^"]*)"/.exec(text)?.[1]?.replaceAll('&amp;', '&') ?? '';
  assert.match(text, `value="${action}"`);
  const headers = { 'Content-Type': 'application/x-www-form-urlencoded' };
  return exchange('POST', new URL(target, url).href, headers, `action=${action}`);
}

test('by the panel of the page, a form', async (world) => {
  const { url } = await create(world);
  const page = `${url}?pay=tron-USDC`;
  const answer = await press(page, 'pay_exact');
  assert.is(answer.status, 303, answer.text);
  const back = new URL(String(answer.headers.location), new URL(`${url}/simulate`)).href;
  assert.is(back, page, 'back on the page, as it was');
  await says(page, /^Paid$/);
});

const stories: readonly (readonly [string, string, readonly (readonly [string, RegExp])[]])[] = [
  [
    'half, then the rest',
    'USD',
    [
      ['pay_under', /5\.25 USDT still due/],
      ['pay_exact', /^Paid$/],
    ],
  ],
  ['a quarter too much', 'USD', [['pay_over', /^Paid$/]]],
  ['twice', 'USD', [['pay_twice', /^Paid$/]]],
  ['too late', 'USD', [['pay_late', /too late/]]],
  ['nothing', 'USD', [['expire', /has expired/]]],
  [
    'half, and then nothing',
    'USD',
    [
      ['pay_under', /still due/],
      ['expire', /was not completed/],
    ],
  ],
  [
    'in another token',
    'USDT',
    [
      ['pay_wrong_token', /not USDT/],
      ['pay_exact', /^Paid$/],
    ],
  ],
];

for (const [name, currency, steps] of stories) {
  test(`by the API: ${name}`, async (world) => {
    const { id, url, payment_options: options } = await create(world, currency);
    const option = options.find((one) => one.network === 'ethereum' && one.currency === 'USDT');
    for (const [action, headline] of steps) {
      const { status, text } = await simulate(world, id, { action, network: option?.network, currency: 'USDT' });
      assert.is(status, 200, text);
      await says(url, headline);
    }
  });
}

test('a simulation that is impossible is refused with a reason', async (world) => {
  const { id, url } = await create(world);
  const refusals: readonly (readonly [object, string, string?])[] = [
    [{ action: 'reorg' }, 'simulation_refused'],
    [{ action: 'pay_wrong_token' }, 'simulation_refused'],
    [{ action: 'dance' }, 'invalid_parameter', 'action'],
    [{}, 'invalid_parameter', 'action'],
    [{ action: 'mine', network: 'moon' }, 'invalid_parameter', 'network'],
    [{ action: 'mine', network: '' }, 'invalid_parameter', 'network'],
  ];
  for (const [body, code, param] of refusals) {
    const { status, json } = await simulate(world, id, body);
    assert.is(status, 400, JSON.stringify(body));
    const { error } = json as { error: { code: string; param?: string } };
    assert.equal({ code: error.code, param: error.param }, { code, param }, JSON.stringify(body));
  }
  assert.is((await simulate(world, 'cs_00000000000000000000000000', { action: 'mine' })).status, 404);
  const headers = { 'Content-Type': 'application/x-www-form-urlencoded' };
  const refused = await exchange('POST', `${url}/simulate`, headers, 'action=reorg');
  assert.is(refused.status, 400);
  assert.match(refused.text, /Pay first/);
  assert.is((await exchange('POST', `${url}/simulate`, headers, 'action=dance')).status, 404);
});

test('the sample payments are in different states, and one is refunded', async ({ folder, client }) => {
  const ended = await runProgram(['scripts/sample-payments.ts'], { QUAYSIDE_DATA_DIR: folder });
  assert.equal({ code: ended.code, stderr: ended.stderr }, { code: 0, stderr: '' });
  const states = ['paid', 'paid', 'paid', 'expired', 'pending', 'paid', 'expired', 'pending'];
  for (const [at, state] of states.entries()) {
    await find(`sample ${at + 1} is ${state}`, async () => {
      const { json } = await client.send('GET', `/api/v1/checkout/sessions?order_id=SAMPLE-${at + 1}`);
      return (json as { data: readonly { payment_status: string }[] }).data[0]?.payment_status === state;
    });
  }
  assert.is((await client.send('GET', '/api/v1/refunds/SAMPLE-R1')).status, 200);
});

test('open pages do not delay the end of the server', async (world) => {
  const { url } = await create(world);
  const streams = await Promise.all(Array.from({ length: 20 }, () => fetch(`${url}/events`)));
  const ended = Promise.all(streams.map((stream) => stream.text()));
  assert.is(await world.supervisor.end('SIGTERM'), 0);
  await ended;
});

test.run();
