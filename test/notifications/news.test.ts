/** News on a real database and over real HTTP and SMTP: who hears of members, keys and payments, and of how many. */
import Sqlite from 'better-sqlite3';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { issueKey } from '../../src/app/new-credentials.ts';
import { invariant } from '../../src/core/fault.ts';
import type { OperatorAct } from '../../src/database/audit-log.ts';
import type { Scope } from '../../src/database/keys.ts';
import type { ChannelKind, NewNoticeTarget } from '../../src/database/notices.ts';
import type { Send } from '../../src/notifications/post.ts';
import { ingestedChain } from '../support/ingested-chain.ts';
import { startMailServer, subjectOf, textOf } from '../support/mail-server.ts';
import { merchantStore, newSession } from '../support/new-session.ts';
import { HOUR_MS, MINUTE_MS, onBench, openBench, plainTarget, realSend } from '../support/notice-bench.ts';
import { testNetwork } from '../support/test-network.ts';

type Bench = Awaited<ReturnType<typeof openBench>>;
const network = testNetwork({ name: 'one' });
const NAME = 'Tea @everyone \u202e& Co';
const ORDER = `@all ${'x'.repeat(100)}`;
const READ: readonly Scope[] = ['sessions:read'];
/** What stays of the name. */
const SHOWN = 'Tea \uff20everyone  & Co';

const by = (bench: Bench, command = 'test'): OperatorAct => ({
  atMs: bench.clock.nowMs(),
  operator: 'Mary (dashboard)',
  command,
  reason: null,
});

/** A store with a key, a member, and payments on a chain. */
async function openShop(bench: Bench, name = NAME, firstKey = 1) {
  const { database, clock } = bench;
  const store = { ...merchantStore(), name };
  await database.createStore(store);
  const chain = ingestedChain(() => database, clock, network);
  let orders = 0;
  let isFollowed = false;
  return {
    store,
    async member(person = 'Ana') {
      const membership = { role: 'staff', storeId: store.id } as const;
      await database.addPerson(
        { id: `usr_${person}`, name: person, membership, createdAtMs: clock.nowMs() },
        by(bench),
      );
    },
    async makeKey() {
      const { key, row } = issueKey(store.id, 'live', READ, clock.nowMs());
      await database.createKey(row, by(bench));
      return { key, secret: row.secret, row };
    },
    revoke: (id: string) => database.revokeKey(id, by(bench)),
    /** Lets so many sessions become paid, in one block. */
    async pay(count: number, order = (n: number) => `o${n}`) {
      const keys = Array.from({ length: count }, (_, n) => (firstKey + orders + n).toString(16).padStart(40, '0'));
      await database.addAddresses({
        family: network.family,
        mode: 'test',
        source: `x${firstKey + orders}`,
        firstIndex: 0,
        keys,
      });
      if (!isFollowed) await chain.mine();
      isFollowed = true;
      await chain.report('following');
      const coins = [];
      for (let n = 0; n < count; n++) {
        orders += 1;
        const wish = { storeId: store.id, name: `${firstKey}-${orders}`, networks: [network], amountMinor: 1000 };
        const made = newSession({ ...wish, nowMs: clock.nowMs() });
        const request = { ...made.request, orderId: order(orders) };
        const outcome = await database.createSession({ ...made, request });
        invariant(outcome.kind === 'created', `not ${outcome.kind}`);
        const to = outcome.session.addresses[network.family];
        invariant(to, 'a session has an address');
        coins.push({ to, currency: 'USDT', units: 10_000_000n } as const);
      }
      const block = await chain.mine(coins);
      await chain.confirm(block);
    },
  };
}

const bodies = (bench: Bench, id = 'nt_0') =>
  bench.server.on(`/${id}`).map(({ body }) => String(JSON.parse(body).text));
const rows = ({ file }: Pick<Bench, 'file'>, query: string): Record<string, unknown>[] => {
  const connection = new Sqlite(file, { readonly: true });
  try {
    return connection.prepare(query).all() as Record<string, unknown>[];
  } finally {
    connection.close();
  }
};

const whole = { payments: true, showsDetails: true } as const;

test(
  'every channel says who came, which keys were made and revoked, and what was paid, in one message',
  onBench({ targets: [{ ...whole, severities: ['page'], payments: false }] }, async (bench) => {
    const mails = await startMailServer();
    try {
      const { database, server } = bench;
      const addresses: Partial<Record<ChannelKind, object>> = {
        email: {
          host: '127.0.0.1',
          port: mails.port,
          security: 'none',
          user: null,
          password: null,
          from: 'a@b.example',
          to: 'c@d.example',
        },
        telegram: { server: server.origin, token: '12:ab', chat: '7' },
        ntfy: { server: `${server.origin}/ntfy`, topic: 'shop', token: null },
        slack: { url: `${server.origin}/slack` },
        discord: { url: `${server.origin}/discord` },
        webhook: { url: `${server.origin}/webhook`, secret: `whsec_${btoa('s'.repeat(24))}` },
      };
      for (const [kind, address] of Object.entries(addresses) as [ChannelKind, object][]) {
        const target: NewNoticeTarget = {
          ...{ id: `nt_${kind}`, kind, name: kind, address: JSON.stringify(address), severities: ['know'], ...whole },
          ...{ storeId: null, quiet: null, afterMinutes: 0, digestMinute: null, zone: 'UTC', code: '123456' },
          createdAtMs: 0,
        };
        await database.addNoticeTarget(target, by(bench));
        await database.proveNoticeTarget(target.id, '123456', by(bench));
      }
      const shop = await openShop(bench);
      await shop.member('Ana');
      const { key, secret, row } = await shop.makeKey();
      await shop.revoke(row.id);
      await shop.pay(1, () => ORDER);
      await bench.after(4 * MINUTE_MS);
      assert.equal([server.received.length, mails.received.length], [0, 0], 'it waits for more');
      await bench.after(MINUTE_MS);
      await bench.after(HOUR_MS);
      const sent = (path: string) => server.on(path).map(({ body }) => JSON.parse(body));
      const unmarked = (text: string) =>
        text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&').replace(/\\(.)/g, '$1');
      const said: Record<string, string[]> = {
        email: mails.received.map((one) => textOf(one).replaceAll('\r\n', '\n')),
        telegram: sent('/bot12:ab/sendMessage').map(({ text }) => text),
        ntfy: sent('/ntfy').map(({ message }) => message),
        slack: sent('/slack').map(({ text }) => unmarked(text)),
        discord: sent('/discord').map(({ content }) => unmarked(content)),
        webhook: sent('/webhook').map(({ data }) => data.object.text),
      };
      for (const [kind, all] of Object.entries(said)) {
        assert.is(all.length, 1, kind);
        const [text = ''] = all;
        const lines = [
          `New member of ${SHOWN}: Ana (staff), by Mary (dashboard) (N-`,
          `API key ${row.hint} of ${SHOWN} was made by Mary (dashboard) (N-`,
          `API key ${row.hint} of ${SHOWN} was revoked by Mary (dashboard) (N-`,
          `Test payment in ${SHOWN} (N-`,
          `  10.00 USDT, order \uff20all ${'x'.repeat(58)}…, cs_`,
          'quayside key revoke <id>',
        ];
        for (const line of lines) assert.ok(text.includes(line), `${kind}: ${line}\n${text}`);
        for (const bad of [key, secret, '@', '\u202e', 'alarms list'])
          assert.not.ok(text.includes(bad), `${kind} ${bad}`);
      }
      assert.match(subjectOf(mails.received[0] ?? { text: '' }), 'x: 4 notices');
      assert.equal(bodies(bench), [], 'only pages go there');
    } finally {
      await mails.close();
    }
  }),
);

test(
  'payments are only for who asked, news only for its store, and amounts and orders only with details',
  onBench(
    {
      targets: [
        { payments: true },
        {},
        { ...whole, severities: ['act'] },
        { payments: true, storeId: null, afterMinutes: 60 },
      ],
    },
    async (bench) => {
      const { database, server } = bench;
      const [shop, other] = [await openShop(bench, 'Tea'), await openShop(bench, 'Coffee', 5_000)];
      const target = (id: string, storeId: string): NewNoticeTarget => ({
        ...{ id, kind: 'slack', name: id, address: JSON.stringify({ url: `${server.origin}/${id}` }), storeId },
        ...{ severities: ['know'], payments: true, showsDetails: true, quiet: null, afterMinutes: 0 },
        ...{ digestMinute: null, zone: 'UTC', code: '123456', createdAtMs: 0 },
      });
      for (const one of [target('nt_tea', shop.store.id), target('nt_coffee', other.store.id)]) {
        await database.addNoticeTarget(one, by(bench));
        await database.proveNoticeTarget(one.id, '123456', by(bench));
      }
      await shop.pay(1);
      await shop.member();
      await shop.makeKey();
      await database.addPerson(
        { id: 'usr_op', name: 'Olga', membership: { role: 'operator', storeId: null }, createdAtMs: 0 },
        by(bench),
      );
      await bench.after(5 * MINUTE_MS);
      const heads = (id: string) =>
        bodies(bench, id).map(
          (text) =>
            text
              .split('\n')
              .slice(1)
              .filter((line) => /N-|USDT/.test(line)).length,
        );
      assert.equal(heads('nt_0'), [4], 'all four, without an amount');
      assert.not.match(bodies(bench)[0] ?? '', /USDT|order|cs_/);
      assert.equal(heads('nt_1'), [3], 'no payment');
      assert.match(bodies(bench, 'nt_1')[0] ?? '', 'New operator of the installation: Olga');
      assert.equal(heads('nt_2'), [2], 'a payment with its amount, and nothing else');
      assert.match(
        bodies(bench, 'nt_2')[0] ?? '',
        /x: Test payment in Tea \(N-\d+\)\n\n.*\n {2}10\.00 USDT, order o1, cs_/,
      );
      assert.equal(heads('nt_3'), [1], 'who is next in line hears of payments that they asked for');
      assert.equal(heads('nt_tea'), [4], 'nothing of the installation');
      assert.equal(heads('nt_coffee'), [], 'nothing of another store');
    },
  ),
);

test(
  'a store that waits for approval tells only its own targets; a role that changes is no new member',
  onBench({ targets: [{}, {}] }, async (bench) => {
    const { database, server, clock } = bench;
    const store = { ...merchantStore(), name: 'Call 555', status: 'pending' } as const;
    await database.createStore(store);
    const address = JSON.stringify({ url: `${server.origin}/nt_own` });
    await database.addNoticeTarget({ ...plainTarget, id: 'nt_own', storeId: store.id, address }, by(bench));
    await database.proveNoticeTarget('nt_own', '123456', by(bench));
    const membership = { role: 'staff', storeId: store.id } as const;
    await database.addPerson({ id: 'usr_1', name: 'Ana', membership, createdAtMs: clock.nowMs() }, by(bench));
    await database.setMembership('usr_1', { role: 'owner', storeId: store.id }, by(bench));
    await bench.after(5 * MINUTE_MS);
    assert.match(bodies(bench, 'nt_own')[0] ?? '', 'New member of Call 555: Ana (staff)');
    assert.equal([bodies(bench, 'nt_0'), bodies(bench, 'nt_1'), bodies(bench, 'nt_own').length], [[], [], 1]);
    assert.is(rows(bench, 'SELECT * FROM notices').length, 1);
  }),
);

test(
  'three hundred payments in a minute are one message and few rows, and later ones are named again',
  onBench({ targets: [whole, { ...whole, severities: ['page', 'know'], digestMinute: 8 * 60 }] }, async (bench) => {
    const shop = await openShop(bench, 'Tea');
    await bench.after(0);
    await shop.makeKey();
    await shop.pay(300);
    assert.is(rows(bench, "SELECT * FROM notices WHERE target_id = 'nt_0'").length, 22);
    await bench.open('frozen:live:bsc', 'payouts_frozen');
    await bench.after(0);
    await bench.after(5 * MINUTE_MS);
    await bench.after(HOUR_MS / 2);
    const [, text = '', ...more] = bodies(bench);
    assert.is(more.length, 1, 'the alarm again, and nothing else');
    assert.match(text, /^x: 301 notices\n\nAPI key/);
    assert.is(text.match(/Test payment/g)?.length, 19);
    assert.match(text, '\nand 281 more\n');
    await shop.pay(1);
    await bench.after(5 * MINUTE_MS);
    assert.match(bodies(bench).at(-1) ?? '', /^x: Test payment in Tea/);
    // What was told is not kept for long.
    await shop.pay(1);
    await bench.after(2 * HOUR_MS);
    assert.is(rows(bench, "SELECT * FROM notices WHERE target_id = 'nt_0' AND news IS NOT NULL").length, 1);

    await bench.after(48 * HOUR_MS);
    const digests = bodies(bench, 'nt_1').filter((line) => line.includes('quayside status'));
    assert.is(digests.length, 1);
    assert.match(digests[0] ?? '', 'Since the last digest: 1 API key made, 302 payments.');
    await bench.after(24 * HOUR_MS);
    assert.not.match(bodies(bench, 'nt_1').at(-1) ?? '', 'Since the last digest');
  }),
);

test(
  'a digest for one store has its own alarms and news, and nothing of others or of the installation',
  onBench({ targets: [{ digestMinute: 8 * 60 }], startMs: Date.UTC(2027, 0, 1) }, async (bench) => {
    const { database, server, clock } = bench;
    const shop = await openShop(bench, 'Tea');
    const address = JSON.stringify({ url: `${server.origin}/nt_tea` });
    const own = {
      ...plainTarget,
      id: 'nt_tea',
      storeId: shop.store.id,
      severities: ['know'],
      digestMinute: 8 * 60,
    } as const;
    await database.addNoticeTarget({ ...own, address }, by(bench));
    await database.proveNoticeTarget('nt_tea', '123456', by(bench));
    await bench.after(0);
    await shop.makeKey();
    await shop.pay(1);
    const sessionId = `cs_${'1-1'.padStart(26, '0')}`;
    assert.is((await database.findSession(sessionId))?.storeId, shop.store.id);
    await bench.open('wallet:a', 'wallet_low');
    const about = { code: 'refund_unapproved', message: '', network: null, sessionId };
    await database.keepAlarm({ key: 'refund:1', atMs: clock.nowMs(), ...about });
    await bench.after(9 * HOUR_MS);
    const digest = (id: string) => bodies(bench, id).find((text) => text.includes('quayside status')) ?? '';
    assert.match(digest('nt_0'), /^x: 2 open alarms/);
    assert.match(
      digest('nt_tea'),
      /^x: 1 open alarms\n\nrefund unapproved \(A-2\)\nSince the last digest: 1 API key made\.\n/,
    );
  }),
);

test(
  'payments that come one after the other are told every five minutes',
  onBench({ targets: [whole] }, async (bench) => {
    const shop = await openShop(bench, 'Tea');
    for (let n = 0; n < 20; n++) {
      await shop.pay(1);
      await bench.after(30_000);
    }
    assert.equal(bench.texts(), ['x: 10 notices', 'x: 10 notices']);
  }),
);

let status = 503;
test(
  'for a target that does not answer, or is paused, rows stay few; afterwards it hears how many there were',
  onBench({ targets: [whole, whole], status: () => status, startMs: Date.UTC(2027, 0, 1) }, async (bench) => {
    const { database } = bench;
    const shop = await openShop(bench, 'Tea');
    await database.pauseNoticeTarget('nt_1', by(bench));
    const waiting = () => rows(bench, 'SELECT target_id, sum(count) AS n, count(*) AS rows FROM notices GROUP BY 1');
    for (let round = 0; round < 6; round++) {
      await shop.pay(30);
      await bench.after(30 * MINUTE_MS);
    }
    assert.equal(waiting(), [
      { target_id: 'nt_0', n: 180, rows: 21 },
      { target_id: 'nt_1', n: 180, rows: 21 },
    ]);
    status = 200;
    await bench.after(HOUR_MS);
    assert.match(bodies(bench).at(-1) ?? '', /^x: 180 notices/);
    await database.resumeNoticeTarget('nt_1', by(bench));
    await bench.after(1_000);
    assert.match(bodies(bench, 'nt_1').at(-1) ?? '', /^x: 180 notices/);
    // What nobody took for a day is given up.
    status = 503;
    await shop.pay(30);
    for (let hours = 0; hours < 26; hours++) await bench.after(HOUR_MS);
    assert.is(rows(bench, 'SELECT * FROM notices WHERE due_at_ms IS NOT NULL AND news IS NOT NULL').length, 0);
  }),
);

test('what comes while a message is being sent is told in the next, once', async () => {
  let whileSending = async () => {};
  const send: Send = async (request) => {
    await whileSending();
    return realSend(request);
  };
  const bench = await openBench({ targets: [whole], send });
  try {
    const shop = await openShop(bench, 'Tea');
    await shop.pay(50);
    whileSending = async () => {
      whileSending = async () => {};
      await shop.pay(7);
    };
    await bench.after(5 * MINUTE_MS);
    await bench.after(5 * MINUTE_MS);
    await bench.after(HOUR_MS);
    assert.equal(bench.texts(), ['x: 50 notices', 'x: 7 payments']);
  } finally {
    await bench.close();
  }
});

const refusing = (file: string, table: string, work: () => Promise<unknown>) => {
  const raw = new Sqlite(file);
  raw.exec(`CREATE TRIGGER refuse BEFORE INSERT ON ${table} BEGIN SELECT RAISE(ABORT, 'refused'); END`);
  return work()
    .then(
      () => assert.unreachable('it was written'),
      (error) => assert.match(String(error.cause ?? error), /refused/),
    )
    .finally(() => {
      raw.exec('DROP TRIGGER refuse');
      raw.close();
    });
};

test(
  'news is written with what it tells, or neither is',
  onBench({ targets: [whole] }, async (bench) => {
    const { file, database } = bench;
    const shop = await openShop(bench, 'Tea');
    const { row } = await shop.makeKey();
    const counts = () =>
      rows(
        bench,
        `SELECT (SELECT count(*) FROM keys WHERE revoked_at_ms IS NULL) AS keys, (SELECT count(*) FROM people) AS people,
           (SELECT count(*) FROM notices) AS notices, (SELECT count(*) FROM sessions WHERE status = 'paid') AS paid`,
      )[0];
    const before = counts();
    assert.equal(before, { keys: 1, people: 0, notices: 1, paid: 0 });
    for (const work of [() => shop.makeKey(), () => shop.revoke(row.id), () => shop.member(), () => shop.pay(1)]) {
      await refusing(file, 'notices', work);
      assert.equal(counts(), before, 'nothing happened that nobody would hear of');
    }
    for (const work of [() => shop.makeKey(), () => shop.revoke(row.id), () => shop.member()]) {
      await refusing(file, 'audit_log', work);
      assert.equal(counts(), before, 'nothing is told that did not happen');
    }
    await refusing(file, 'events', () => shop.pay(1));
    assert.equal(counts(), before);
    assert.is((await database.listKeys(shop.store.id)).length, 1);
  }),
);

test.run();
