/** Receipts by mail: sent by a real mail server, tried again, and erased. */
import Sqlite from 'better-sqlite3';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { MAILS_KEPT_DAYS } from '../../src/database/mails.ts';
import { DAY_MS } from '../../src/lib/clock.ts';
import { openLog } from '../../src/lib/log.ts';
import { runMails, sendDueMails } from '../../src/notifications/mails.ts';
import { type ApiServer, startApi } from '../support/api-server.ts';
import { type MailServerOptions, mailSettings, type Received, startMailServer } from '../support/mail-server.ts';
import { confirmTip, openSale } from '../support/payment-scenes.ts';

const ADDRESS = 'ann@people.example';

/** Reads the file as anybody who has it can. */
function rowsOf({ file }: Pick<ApiServer, 'file'>, query: string): unknown[] {
  const connection = new Sqlite(file, { readonly: true });
  try {
    return connection.prepare(query).all();
  } finally {
    connection.close();
  }
}

/** `warned`: what the log says of mails that were not sent. */
type Bench = Readonly<{ api: ApiServer; received: Received[]; warned: string[]; send(): Promise<unknown> }>;

const onBench =
  (work: (bench: Bench) => Promise<void>, options: MailServerOptions = {}) =>
  async () => {
    const server = await startMailServer(options);
    const api = await startApi({ addresses: 5 });
    const parts = { mails: api.database().mails, mail: mailSettings(server), clock: api.clock };
    const warned: string[] = [];
    const warn = ({ answer }: Readonly<{ answer: string }>) => void warned.push(answer);
    const log = Object.assign(openLog('mail', 'silent'), { warn });
    const send = () => sendDueMails({ ...parts, log, signal: new AbortController().signal });
    try {
      await api.database().stores.setPageSettings(api.merchantId, { receiptsReplyTo: 'help@shop.example' });
      await work({ api, received: server.received, warned, send });
    } finally {
      await api.close();
      await server.close();
    }
  };

/** Queues the receipt of a new payment. */
async function ask({ api }: Pick<Bench, 'api'>, to = ADDRESS): Promise<void> {
  const sale = await openSale(api);
  await sale.send('10.50');
  await confirmTip(api);
  const mail = { to, fromName: 'Shop', replyTo: null, subject: 'Your receipt', text: `Thank you, ${to}` };
  const receipt = { sessionId: sale.id, mail, nowMs: api.clock.nowMs() };
  assert.is(await api.database().mails.queueReceipt(receipt), 'queued');
}

const benchTest = (title: string, ...args: Parameters<typeof onBench>) => test(title, onBench(...args));

benchTest(
  'what a server refuses for now is tried again, and what it refuses for good is not; logs name nobody',
  async (bench) => {
    const { send, received, warned, api } = bench;
    const [database, { clock }] = [api.database(), api];
    const [busy, gone] = ['busy@x.example', 'gone@x.example'];
    await ask(bench, busy);
    // Ids sort by time.
    clock.advance(1);
    await ask(bench, gone);
    await send();
    await send();
    assert.is(received.length, 0);
    assert.equal(await database.mails.claim(clock.nowMs(), 9), []);
    clock.advance(60_000);
    const again = await database.mails.claim(clock.nowMs(), 9);
    assert.equal(
      again.map(({ to, tries }) => [to, tries]),
      [[busy, 1]],
    );
    assert.match(warned[0] ?? '', /^451: /);
    assert.match(warned[1] ?? '', /^550: /);
    for (const answer of warned) assert.not.match(answer, '@x.example');
  },
  {
    refuse: (address) =>
      address.startsWith('busy') ? `451 ${address} is busy` : address.startsWith('gone') ? `550 no ${address}` : null,
  },
);

benchTest('addresses and texts are sealed in the file, and erased after a month', async (bench) => {
  const { api, send, received } = bench;
  const { clock } = api;
  await ask(bench);
  const [row] = rowsOf(api, 'SELECT payload AS message FROM jobs') as { message: string }[];
  assert.match(row?.message ?? '', /^v1\./);
  assert.not.match(row?.message ?? '', 'people');
  await send();
  clock.advance(MAILS_KEPT_DAYS * DAY_MS - 1);
  await send();
  assert.is(rowsOf(api, 'SELECT key FROM jobs WHERE payload IS NOT NULL').length, 1);
  clock.advance(2);
  await send();
  assert.equal([rowsOf(api, 'SELECT payload AS message FROM jobs'), received.length], [[{ message: null }], 1]);
});

test('a stop does not wait for a mail server that is silent', async () => {
  const { createServer } = await import('node:net');
  const silent = createServer(() => {});
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  const { port } = silent.address() as { port: number };
  await onBench(async (bench) => {
    await ask(bench);
    const stopping = new AbortController();
    const connected = new Promise((resolve) => silent.once('connection', resolve));
    const running = runMails({
      ...{ mails: bench.api.database().mails, mail: mailSettings({ port }), clock: bench.api.clock },
      ...{ log: openLog('mail', 'silent'), signal: stopping.signal },
    });
    await connected;
    stopping.abort();
    await running;
    // It was not recorded as sent, and is found again after its lease.
    const { api } = bench;
    assert.equal(await api.database().mails.claim(api.clock.nowMs(), 9), []);
    api.clock.advance(15 * 60_000);
    assert.is((await api.database().mails.claim(api.clock.nowMs(), 9)).length, 1);
  })();
  silent.close();
});

test.run();
