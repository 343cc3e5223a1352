/** Mail to people: written with what it tells, sent by a real mail server, tried again, and erased. */
import Sqlite from 'better-sqlite3';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { OperatorAct } from '../../src/database/audit-log.ts';
import { MAILS_KEPT_DAYS } from '../../src/database/mails.ts';
import { DAY_MS } from '../../src/lib/clock.ts';
import { openLog } from '../../src/lib/log.ts';
import { runMails, sendDueMails } from '../../src/notifications/mails.ts';
import { type HandClock, handClock } from '../support/hand-clock.ts';
import {
  type MailServerOptions,
  mailSettings,
  type Received,
  startMailServer,
  subjectOf,
  textOf,
} from '../support/mail-server.ts';
import { openTempDatabase, type TempDatabase } from '../support/temp-database.ts';
import { until } from '../support/until.ts';

const START_MS = Date.UTC(2027, 0, 1);
const ADDRESS = 'ann@people.example';

/** Reads the file as anybody who has it can. */
function rowsOf({ file }: Pick<TempDatabase, 'file'>, query: string): unknown[] {
  const connection = new Sqlite(file, { readonly: true });
  try {
    return connection.prepare(query).all();
  } finally {
    connection.close();
  }
}

type Bench = Readonly<{
  database: TempDatabase['database'];
  place: TempDatabase;
  clock: HandClock;
  received: Received[];
  act(command?: string): OperatorAct;
  send(): Promise<unknown>;
  port: number;
}>;

const onBench =
  (work: (bench: Bench) => Promise<void>, options: MailServerOptions = {}) =>
  async () => {
    const server = await startMailServer(options);
    const place = openTempDatabase();
    const { database } = place;
    const clock = handClock(START_MS);
    const act = (command = 'test') => ({ atMs: clock.nowMs(), operator: 'Ann', command, reason: null });
    const parts = {
      database,
      mail: mailSettings(server),
      clock,
      log: openLog('mail', 'silent'),
      sender: 'pay.example',
    };
    const send = () => sendDueMails({ ...parts, signal: new AbortController().signal });
    try {
      await database.addPerson(
        { id: 'usr_ann', name: 'Ann', membership: { role: 'operator', storeId: null }, createdAtMs: START_MS },
        act(),
      );
      await work({ database, place, clock, received: server.received, act, send, port: server.port });
    } finally {
      place.close();
      await server.close();
    }
  };

async function ask({ database, act }: Bench, address = ADDRESS, code = '12345678'): Promise<boolean> {
  return database.askPersonMail({ personId: 'usr_ann', address, code, language: 'en' }, act());
}

test(
  'an address counts once its code was typed; then what happens to the account is told there, and nowhere before',
  onBench(async (bench) => {
    const { database, act, send, received, clock } = bench;
    const link = (n: number) =>
      database.addSignInLink(
        { hash: String(n), personId: 'usr_ann', salt: 'salt', expiresAtMs: START_MS * 2 },
        act('user reset'),
      );
    await link(1);
    assert.is(await ask(bench), true);
    await link(2);
    await send();
    assert.equal(
      received.map((one) => [one.from, one.to, subjectOf(one)]),
      [['pay@installation.example', [ADDRESS], 'pay.example: Ann: your code is 12345678']],
    );
    assert.is(await database.provePersonMail('usr_ann', '87654321', act()), 'wrong');
    assert.is(await database.provePersonMail('usr_ann', '12345678', act()), 'proved');
    assert.equal(await database.findPersonMail('usr_ann'), { address: ADDRESS, nextAddress: null });
    clock.advance(1);
    await link(3);
    await send();
    assert.match(subjectOf(received[1] ?? { text: '' }), 'a link to set a new password was made');
    const text = textOf(received[1] ?? { text: '' });
    assert.match(text, /2027-01-01 00:00:00 UTC[\s\S]*All sessions have ended/);
    assert.not.match(text, /https?:|\/link\//);
    // A change is told to whoever had the address before.
    await ask(bench, 'eve@evil.example', '11111111');
    clock.advance(1);
    await database.provePersonMail('usr_ann', '11111111', act());
    await send();
    assert.equal(
      received.slice(2).map((one) => one.to[0]),
      ['eve@evil.example', ADDRESS],
    );
    assert.match(subjectOf(received[3] ?? { text: '' }), 'your mail address was changed');
    await database.removePersonMail('usr_ann', act());
    await send();
    assert.match(subjectOf(received[4] ?? { text: '' }), 'your mail address was removed');
    await link(4);
    await send();
    assert.is(received.length, 5);
  }),
);

test(
  'a person is written to in the language and the time zone that they have chosen',
  onBench(async (bench) => {
    const { database, act, send, received, clock } = bench;
    await ask(bench);
    await database.provePersonMail('usr_ann', '12345678', act());
    clock.advance(1);
    await database.setLanguage('usr_ann', 'es', act());
    await database.setZone('usr_ann', 'Asia/Tokyo', act());
    await database.addSignInLink(
      { hash: '1', personId: 'usr_ann', salt: 'salt', expiresAtMs: START_MS * 2 },
      act('user reset'),
    );
    await send();
    const last = received.at(-1) ?? { text: '' };
    assert.is(subjectOf(last), 'pay.example: Ann: se creó un enlace para una contraseña nueva');
    assert.match(textOf(last), /^2027-01-01 09:00:00 Asia\/Tokyo/m);
  }),
);

test(
  'passkeys are told; five wrong codes end one, and codes cannot be sent at will',
  onBench(async (bench) => {
    const { database, act, send, received, clock } = bench;
    await ask(bench);
    for (let n = 0; n < 5; n++) assert.is(await database.provePersonMail('usr_ann', '0', act()), 'wrong');
    assert.is(await database.provePersonMail('usr_ann', '12345678', act()), 'too_many');
    await ask(bench);
    await database.provePersonMail('usr_ann', '12345678', act());
    const passkey = { id: 'pk', personId: 'usr_ann', name: 'phone', publicKey: 'k', counter: 0, createdAtMs: START_MS };
    await database.addPasskey(passkey, '', act());
    await database.removePasskey('usr_ann', 'pk', '', act());
    await send();
    const subjects = received
      .map(subjectOf)
      .filter((subject) => /passkey/.test(subject))
      .sort();
    assert.equal(subjects, ['pay.example: Ann: a passkey was added', 'pay.example: Ann: a passkey was removed']);
    const asked = [];
    for (let n = 0; n < 5; n++) asked.push(await ask(bench, `stranger${n}@x.example`));
    assert.equal(asked, [true, true, true, false, false]);
    clock.advance(DAY_MS + 1);
    assert.is(await ask(bench), true);
  }),
);

test(
  'what a server refuses for now is tried again, and what it refuses for good is not; logs name nobody',
  onBench(
    async (bench) => {
      const { database, send, received, clock, place } = bench;
      const [busy, gone] = ['busy@x.example', 'gone@x.example'];
      await ask(bench, busy);
      // Ids sort by time.
      clock.advance(1);
      await ask(bench, gone);
      await send();
      await send();
      assert.is(received.length, 0);
      assert.equal(await database.dueMails(clock.nowMs(), 9), []);
      clock.advance(60_000);
      const again = await database.dueMails(clock.nowMs(), 9);
      assert.equal(
        again.map(({ to, tries }) => [to, tries]),
        [[busy, 1]],
      );
      const errors = rowsOf(place, 'SELECT error FROM mails ORDER BY id') as { error: string }[];
      assert.match(errors[0]?.error ?? '', /^451: /);
      assert.match(errors[1]?.error ?? '', /^550: /);
      for (const { error } of errors) assert.not.match(error, '@x.example');
    },
    {
      refuse: (address) =>
        address.startsWith('busy') ? `451 ${address} is busy` : address.startsWith('gone') ? `550 no ${address}` : null,
    },
  ),
);

test(
  'addresses and texts are sealed in the file, and erased after a month',
  onBench(async (bench) => {
    const { send, place, clock, received } = bench;
    await ask(bench);
    const [row] = rowsOf(place, 'SELECT message FROM mails') as { message: string }[];
    assert.match(row?.message ?? '', /^v1\./);
    assert.not.match(row?.message ?? '', 'people');
    await send();
    clock.advance(MAILS_KEPT_DAYS * DAY_MS - 1);
    await send();
    assert.is(rowsOf(place, 'SELECT id FROM mails').length, 1);
    clock.advance(2);
    await send();
    assert.equal([rowsOf(place, 'SELECT id FROM mails').length, received.length], [0, 1]);
  }),
);

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
      ...{ database: bench.database, mail: mailSettings({ port }), clock: bench.clock, sender: 'x' },
      ...{ log: openLog('mail', 'silent'), signal: stopping.signal },
    });
    await connected;
    stopping.abort();
    await running;
    // It was not recorded as sent, and is found again.
    await until('it is due', async () => (await bench.database.dueMails(bench.clock.nowMs(), 9)).length === 1);
  })();
  silent.close();
});

test.run();
