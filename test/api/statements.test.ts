/** The number of statements that a request runs on the database, its nonce included. */
import Sqlite from 'better-sqlite3';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { withApi } from '../support/api-server.ts';

const CREATE = '/api/v1/checkout/sessions/create';
const STATEMENTS_OF_CREATE_MAX = 12;
const STATEMENTS_OF_READ_MAX = 8;

/** Returns the statements that `work` runs, and how many transactions it commits, reading ones too. */
async function statementsOf(work: () => Promise<unknown>) {
  const client = new Sqlite(':memory:');
  const statement = Object.getPrototypeOf(client.prepare('SELECT 1')) as Record<
    string,
    (...args: unknown[]) => unknown
  >;
  client.close();
  const texts: string[] = [];
  const names = ['run', 'get', 'all', 'iterate'];
  const real = names.map((name) => statement[name]);
  for (const [at, name] of names.entries()) {
    statement[name] = function (this: Sqlite.Statement, ...args: unknown[]) {
      texts.push(this.source);
      return real[at]?.apply(this, args);
    };
  }
  try {
    await work();
  } finally {
    for (const [at, name] of names.entries()) statement[name] = real[at] as (typeof statement)[string];
  }
  return {
    run: texts.filter((text) => /^\s*(select (?!total_changes)|insert|update|delete|with)/i.test(text)),
    commits: texts.filter((text) => text === 'COMMIT').length,
  };
}

test('a signed create and a signed read run few statements', () =>
  withApi({}, async (api) => {
    await api.follow();
    const create = (name: string) => api.send('POST', CREATE, { order_id: name, amount: 1000, currency: 'USD' });
    await create('first');
    let id = '';
    const { run: created, commits } = await statementsOf(async () => {
      const { status, json } = await create('second');
      assert.is(status, 200);
      id = (json as { id: string }).id;
    });
    assert.ok(created.some((text) => /into "sessions"/i.test(text)));
    assert.ok(created.some((text) => text.includes('INTO replays')));
    assert.ok(created.length <= STATEMENTS_OF_CREATE_MAX, created.join('\n'));
    assert.is(commits, 2, 'the key is read; the nonce and the session are saved together');
    const { run: read } = await statementsOf(() => api.send('GET', `/api/v1/checkout/sessions/${id}`));
    assert.ok(read.some((text) => /from "sessions"/i.test(text)));
    assert.ok(read.length <= STATEMENTS_OF_READ_MAX, read.join('\n'));
  }));

test.run();
