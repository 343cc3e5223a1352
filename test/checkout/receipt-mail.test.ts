/** The receipt by mail, over real HTTP to a real mail server: off by default, asked for twice, sent once. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openLog } from '../../src/lib/log.ts';
import { sendDueMails } from '../../src/notifications/mails.ts';
import { type ApiServer, startApi } from '../support/api-server.ts';
import { mailSettings, type Received, startMailServer, subjectOf, textOf } from '../support/mail-server.ts';
import { confirmTip, openSale, type Sale } from '../support/payment-scenes.ts';

const REPLY_TO = 'help@shop.example';

type Bench = Readonly<{
  api: ApiServer;
  received: Received[];
  deliver(): Promise<void>;
  /** Opens a sale and pays it. */
  paid(body?: object): Promise<Sale>;
}>;

/** @param replyTo null for a shop that sends no receipts */
const onBench =
  (work: (bench: Bench) => Promise<void>, { replyTo = REPLY_TO, hasServer = true } = {}) =>
  async () => {
    const server = await startMailServer();
    const mail = hasServer ? mailSettings(server) : null;
    const api = await startApi({ pages: true, addresses: 20, mail });
    const deliver = async () => {
      const parts = { mails: api.database().mails, mail, clock: api.clock, log: openLog('mail', 'silent') };
      await sendDueMails({ ...parts, signal: new AbortController().signal });
    };
    const paid = async (body: object = {}) => {
      const sale = await openSale(api, body);
      await sale.send('10.50');
      await confirmTip(api);
      return sale;
    };
    try {
      if (replyTo !== '') await api.database().stores.setPageSettings(api.merchantId, { receiptsReplyTo: replyTo });
      await work({ api, received: server.received, deliver, paid });
    } finally {
      await api.close();
      await server.close();
    }
  };

const post = (api: ApiServer, path: string, fields: Record<string, string>) =>
  fetch(`${api.baseUrl}${path.replace(/(\?|$)/, '/receipt$1')}`, {
    method: 'POST',
    redirect: 'manual',
    body: new URLSearchParams(fields),
  });
const page = async (api: ApiServer, path: string) => (await fetch(api.baseUrl + path)).text();
const whole = { address: 'ann@payer.example', confirmed: 'yes' };

const benchTest = (title: string, ...args: Parameters<typeof onBench>) => test(title, onBench(...args));

benchTest(
  'a receipt is sent once to the address that was seen whole, in the language of the page',
  async ({ api, received, deliver, paid }) => {
    const sale = await paid({ order_id: `A-1\u202e<b>${'x'.repeat(80)}` });
    const path = `${sale.payerPath}&lang=es`;
    assert.match(await page(api, path), 'Recibo por correo');
    const first = await post(api, path, { address: ' ann@payer.example ' });
    assert.is(first.status, 200);
    assert.match(await first.text(), /¿Enviar el recibo allí\?[\s\S]*ann@payer\.example/);
    await deliver();
    assert.equal(received, [], 'it was only shown');
    const answers = await Promise.all([1, 2, 3].map(() => post(api, path, whole)));
    assert.equal(
      answers.map(({ status }) => status),
      [303, 303, 303],
    );
    assert.match(await page(api, path), 'El recibo va de camino');
    assert.not.match(await page(api, path), 'ann@payer');
    await deliver();
    assert.is((await post(api, path, { ...whole, address: 'eve@x.example' })).status, 303);
    await deliver();
    const [mail, ...others] = received;
    assert.equal(others, []);
    assert.equal([mail?.from, mail?.to], ['pay@installation.example', ['ann@payer.example']]);
    assert.match(mail?.text ?? '', /^Reply-To: <?help@shop\.example>?\r$/m);
    const text = textOf(mail ?? { text: '' });
    assert.match(subjectOf(mail ?? { text: '' }), /^Recibo de /);
    assert.match(text, '10.50 USDT · ');
    assert.match(text, 'A-1 <b>xxx');
    assert.not.match(text, /x{70}|\u202e/);
    assert.match(text, `${api.baseUrl}/pay/${sale.id}?lang=es`);
    assert.not.match(text, /[?&]k=|\/refund\//, 'whoever reads the mailbox can name no address for a refund');
  },
);

benchTest('nothing is sent before a payment, nor to what is no address', async ({ api, received, deliver, paid }) => {
  const open = await openSale(api);
  assert.is((await post(api, open.payerPath, whole)).status, 404);
  assert.not.match(await page(api, open.payerPath), 'receipt-mail');
  assert.is((await post(api, `/pay/cs_${'0'.repeat(26)}`, whole)).status, 404);
  const sale = await paid();
  for (const address of ['ann', 'ann@payer.example,eve@x.example', 'ann@payer.example\r\nBcc: eve@x.example', '']) {
    const refused = await post(api, sale.path, { address, confirmed: 'yes' });
    assert.match(refused.headers.get('location') ?? '', /mail=bad/, address);
  }
  assert.match(await page(api, `${sale.path}?mail=bad`), 'This is not an e-mail address');
  await deliver();
  assert.equal(received, []);
});

benchTest('one address gets few receipts a day, and one caller few tries', async ({ api, received, deliver, paid }) => {
  const locations = [];
  for (let n = 0; n < 4; n++) {
    const sale = await paid();
    locations.push((await post(api, sale.path, whole)).headers.get('location') ?? '');
  }
  assert.equal(
    locations.map((location) => location.includes('mail=limit')),
    [false, false, false, true],
  );
  await deliver();
  assert.is(received.length, 3);
  const sale = await paid();
  const statuses = [];
  for (let n = 0; n < 8; n++) statuses.push((await post(api, sale.path, { address: 'x' })).status);
  assert.is(statuses.at(-1), 429);
});

benchTest(
  'a shop sends none unless it says where answers go',
  async ({ api, received, deliver, paid }) => {
    const sale = await paid();
    assert.not.match(await page(api, sale.payerPath), 'receipt-mail');
    assert.is((await post(api, sale.payerPath, whole)).status, 404);
    await deliver();
    assert.equal(received, []);
  },
  { replyTo: '' },
);

benchTest(
  'without a mail server in the settings nobody is asked',
  async ({ api, paid }) => {
    const sale = await paid();
    assert.not.match(await page(api, sale.payerPath), 'receipt-mail');
    assert.is((await post(api, sale.payerPath, whole)).status, 404);
  },
  { hasServer: false },
);

test.run();
