/**
 * The payment method for Xboard and V2Board, in PHP's own web server with the parts of each panel that it meets,
 * against the real API.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { chains } from '../../src/chains/index.ts';
import { webhookHeaders } from '../../src/core/delivery.ts';
import { type ApiServer, startApi } from '../support/api-server.ts';
import { freePort } from '../support/free-port.ts';
import { confirmTip, openSale, pass } from '../support/payment-scenes.ts';
import { until } from '../support/until.ts';

const isHere =
  spawnSync('php', ['-r', 'exit(extension_loaded("curl") && PHP_VERSION_ID >= 80100 ? 0 : 1);']).status === 0;

type Panel = Readonly<{
  post(
    path: '/pay' | '/notify',
    body?: string,
    headers?: Record<string, string>,
  ): Promise<[status: number, text: string]>;
  order(): Record<string, unknown>;
  stop(): Promise<void>;
}>;

/** Starts a panel with one order over 73.00, 0.50 of it the method's fee. */
async function startPanel(name: string, api: ApiServer, webhookSecret: string): Promise<Panel> {
  const folder = mkdtempSync(join(tmpdir(), 'quayside-panel-'));
  cpSync('integrations/xboard/v2board', folder, { recursive: true });
  cpSync('integrations/xboard/Quayside', join(folder, 'Quayside'), { recursive: true });
  cpSync('sdk/php/quayside.php', join(folder, 'Quayside/quayside.php'));
  const file = join(folder, 'order.json');
  const order = { trade_no: 'order-1', total_amount: 7250, handling_amount: 50, status: 0, callback_no: null };
  writeFileSync(file, JSON.stringify(order));
  const { apiKey, apiSecret } = api.testKey;
  const config = {
    base_url: api.baseUrl,
    api_key: apiKey,
    api_secret: apiSecret,
    webhook_secret: webhookSecret,
    currency: 'usd',
  };
  const address = `127.0.0.1:${await freePort()}`;
  const env = {
    PANEL: name,
    FOLDER: folder,
    ORDER: file,
    CONFIG: JSON.stringify(config),
    NOTIFY: `http://${address}/notify`,
  };
  const child: ChildProcess = spawn('php', ['-S', address, resolve('test/integrations/panel.php')], {
    env: { ...process.env, ...env },
    stdio: 'ignore',
  });
  const post: Panel['post'] = async (path, body = '', headers = {}) => {
    const answer = await fetch(`http://${address}${path}`, { method: 'POST', body, headers });
    return [answer.status, await answer.text()];
  };
  await until('the panel answers', () =>
    fetch(`http://${address}/notify`).then(
      () => true,
      () => false,
    ),
  );
  return {
    post,
    order: () => JSON.parse(readFileSync(file, 'utf8')),
    async stop() {
      const ended = once(child, 'exit');
      child.kill();
      await ended;
      rmSync(folder, { recursive: true });
    },
  };
}

type World = { api: ApiServer; secret: string; panel: Panel };

for (const name of ['Xboard', 'V2Board']) {
  const test = suite<World>(name);
  const on = isHere ? test : test.skip;

  test.before.each(async (world) => {
    if (!isHere) return;
    world.api = await startApi();
    // PHP takes the machine's clock.
    await pass(world.api, Math.round((Date.now() - world.api.clock.nowMs()) / 1000));
    world.secret = (await world.api.database().endpoints.findSecret(world.api.merchantId, 'test'))?.secret ?? '';
    world.panel = await startPanel(name, world.api, world.secret);
  });
  test.after.each(async ({ api, panel }) => {
    await panel?.stop();
    await api?.close();
  });

  /** Sends the panel the newest event of a type, as the sender of webhooks does. */
  async function notify({ api, panel, secret }: World, type: 'payment.completed' | 'payment.expired', as = secret) {
    const { merchantId: storeId } = api;
    const range = { fromId: 'evt_', beforeId: 'evt_a', first: 'newest', limit: 1 } as const;
    const [event] = await api.database().events.list({ storeId, mode: 'test', types: [type], ...range });
    const { id: eventId, body = '' } = event ?? {};
    const signed = {
      secret: as,
      nextSecret: null,
      mode: 'test',
      eventId: String(eventId),
      eventType: type,
      body,
    } as const;
    return panel.post(
      '/notify',
      body,
      webhookHeaders({ ...signed, timestampS: Math.floor(Date.now() / 1000), nonce: 'n-1' }),
    );
  }

  async function pay({ panel, api }: World): Promise<string> {
    const [status, text] = await panel.post('/pay');
    assert.is(status, 200, text);
    const { type, data } = JSON.parse(text) as { type: number; data: string };
    assert.is(type, 1);
    const { json } = await api.send('GET', '/api/v1/checkout/sessions?order_id=order-1');
    const [session, ...more] = (json as { data: { id: string; amount_total: number }[] }).data;
    assert.equal({ more, amount: session?.amount_total }, { more: [], amount: 7300 });
    assert.match(data, `/pay/${session?.id}`);
    return session?.id ?? '';
  }

  /** Pays a session in full, in a confirmed block. */
  async function settle({ api }: World, id: string): Promise<void> {
    const { json } = await api.send('GET', `/api/v1/checkout/sessions/${id}`);
    const [option] = (json as { payment_options: { address: string }[] }).payment_options;
    const to = chains.evm.address.parse(option?.address ?? '') ?? '';
    await api.chain('ethereum').mine([{ to, currency: 'USDT', units: 73_000_000n }]);
    await confirmTip(api);
  }

  on('two clicks open one session; its payment credits the order once', async (world) => {
    const id = await pay(world);
    assert.is(await pay(world), id);
    await settle(world, id);
    for (const _ of ['first', 'second']) {
      assert.equal(await notify(world, 'payment.completed'), [200, 'success']);
      const { status, callback_no } = world.panel.order();
      assert.equal({ status, callback_no }, { status: 1, callback_no: id });
    }
  });

  on('an order that expires is acknowledged, and not credited', async (world) => {
    await pay(world);
    await pass(world.api, 1801);
    assert.equal(await notify(world, 'payment.expired'), [200, 'ignored']);
    assert.is(world.panel.order().status, 0);
  });

  on('another secret, no signature, and the payment of another order are refused', async (world) => {
    const id = await pay(world);
    await settle(world, id);
    const refused = [
      await notify(world, 'payment.completed', `whsec_${'A'.repeat(32)}`),
      await world.panel.post('/notify', JSON.stringify({ type: 'payment.completed' })),
    ];
    const small = await openSale(world.api, { order_id: 'order-1-small' });
    await small.send('10.50');
    await confirmTip(world.api);
    refused.push(await notify(world, 'payment.completed'));
    assert.equal(
      refused.map(([status]) => status),
      [500, 500, 500],
    );
    assert.is(world.panel.order().status, 0);
  });

  test.run();
}
