/**
 * An installation with a value of every kind that the secret key protects, and rotations of it.
 */
import { dirname, join } from 'node:path';
import * as assert from 'uvu/assert';
import type { RotationParts } from '../../src/app/secret-key-rotation.ts';
import { chains } from '../../src/chains/index.ts';
import type { Database } from '../../src/database/database.ts';
import type { ApiServer } from '../support/api-server.ts';
import { approve } from '../support/approve.ts';
import { column } from '../support/fields.ts';
import { ingestedChain } from '../support/ingested-chain.ts';
import { finalSale, leaveAddress, openSale, type Sale } from '../support/payment-scenes.ts';
import { testNetwork } from '../support/test-network.ts';

export const operator = (command: string, atMs: number) => ({ atMs, operator: 'alice', command, reason: null });

/** Address keys, as a database without a format for them shows them. */
export const [left, named, claimed] = ['bb', 'aa', 'cc'].map((start) => start.padEnd(40, '7')) as [
  string,
  string,
  string,
];
const shown = chains.evm.address.format;

export const keyFileOf = ({ file }: Pick<ApiServer, 'file'>): string => join(dirname(file), 'secret.key');

/** The parts of a rotation; its backup is a copy that nobody reads. */
export const rotationParts = (file: string, onStep: (name: string) => void = () => {}): RotationParts => ({
  config: { dataDir: dirname(file), databaseUrl: null },
  env: {},
  act: operator('secret-key rotate', 1_900_000_000_000),
  backup: async () => {},
  onStep,
});

export type Contents = Readonly<{
  sale: Sale;
  /** A claim link of a refund without a destination. */
  claimUrl: string;
  endpointId: string;
  secrets: Readonly<{ secret: string; nextSecret: string | null }>;
  /** Refunds: of the API's key, processing, and one that an approver has approved. */
  refunds: Readonly<{ asked: string; named: string; approved: string }>;
}>;

/** Fills an installation, whose API serves pages, with values of every kind. */
export async function fill(api: ApiServer): Promise<Contents> {
  const database = api.database();
  const act = operator('fill', api.clock.nowMs());
  await addPersonAndTarget(database, act);
  await addOutgoing(database, act.atMs);
  const endpoint = await database.endpoints.add({
    id: 'we_1',
    storeId: api.merchantId,
    mode: 'test',
    url: 'https://shop.example/hook',
    extendedEvents: [],
    createdAtMs: act.atMs,
    secret: 'whsec_c2VjcmV0LW9uZQ==',
  });
  assert.ok(endpoint);
  const step = { kind: 'start', secret: 'whsec_c2VjcmV0LXR3bw==' } as const;
  const rotated = await database.endpoints.rotateSecret({ id: 'we_1', mode: 'test', step, act, isDryRun: false });
  assert.is(rotated.kind, 'done');
  const sale = await finalSale(api);
  const refund = (refund_id: string, metadata?: object) =>
    api.send('POST', '/api/v1/refunds/create', {
      order_id: sale.id,
      refund_id,
      amount: '1.00',
      currency: 'USDT',
      ...(metadata && { metadata }),
    });
  const asked = await refund('r-asked');
  assert.is(asked.status, 201, asked.text);
  for (const id of ['r-named', 'r-approved', 'r-pending']) {
    const answer = await refund(id, { refund_address: shown(named) });
    assert.is(answer.status, 201, answer.text);
    if (id !== 'r-pending') await database.refunds.advance(api.clock.nowMs(), 100);
  }
  const other = await openSale(api);
  await other.send('10.50');
  assert.is((await leaveAddress(api, other, shown(left))).status, 303);
  const ids = new Map((await database.refunds.list({ limit: 10 })).map(({ refundId, id }) => [refundId, id]));
  const idOf = (refundId: string) => ids.get(refundId) ?? '';
  const approval = { approver: 'ab'.repeat(32), untilS: 2_000_000_000, signature: 'cd'.repeat(64) };
  assert.is(await approve(database, idOf('r-approved'), act.atMs, approval), 'done');
  const secrets = await database.endpoints.findSecret('we_1', 'test');
  assert.ok(secrets);
  return {
    sale,
    claimUrl: (asked.json as { metadata: { claim_url: string } }).metadata.claim_url,
    endpointId: 'we_1',
    secrets: { secret: secrets.secret, nextSecret: secrets.nextSecret },
    refunds: { asked: idOf('r-asked'), named: idOf('r-named'), approved: idOf('r-approved') },
  };
}

/** A network without sales, whose wallet has paid something. */
const paying = testNetwork({ name: 'paying' });

async function addOutgoing(database: Database, nowMs: number): Promise<void> {
  await database.wallets.recordOwn(paying.key, { refund: named });
  const moved = { from: named, to: claimed, currency: 'USDT', units: 5n, isOutgoing: true } as const;
  await ingestedChain(() => database, { nowMs: () => nowMs }, paying).mine([moved]);
}

async function addPersonAndTarget(database: Database, act: ReturnType<typeof operator>): Promise<void> {
  const { atMs } = act;
  const membership = { role: 'operator', storeId: null } as const;
  await database.people.add({ id: 'usr_1', name: 'Ada', membership, createdAtMs: atMs }, act);
  await database.people.addLink('usr_1', { hash: 'link', salt: 'salt', expiresAtMs: atMs + 60_000 }, act);
  const session = {
    hash: 's',
    personId: 'usr_1',
    startedAtMs: atMs,
    seenAtMs: atMs,
    sudoUntilMs: 0,
    formToken: 'f',
  };
  const secrets = { password: 'p', factor: { totpSecret: 'TOTPSECRET', totpStep: 0, recoveryHashes: [] } };
  assert.ok(await database.people.claimLink({ hash: 'link', secrets, session }, act));
  await database.alarms.addTarget(
    {
      id: 'nt_1',
      kind: 'slack',
      name: 'on call',
      severity: 'page',
      code: '918273',
      createdAtMs: atMs,
      address: JSON.stringify({ url: 'https://hooks.example/hidden' }),
    },
    act,
  );
}

let signInAtMs = Date.now();

/** Checks that everything that the key protects still works, over HTTP where it is used so. */
export async function checkAll(api: ApiServer, contents: Contents): Promise<void> {
  const database = api.database();
  const { sale, endpointId, secrets, refunds } = contents;
  assert.is((await api.send('GET', `/api/v1/checkout/sessions/${sale.id}`)).status, 200, 'API key and address');
  assert.is((await api.client(api.liveKey).send('GET', '/api/v1/checkout/sessions/cs_0')).status, 404, 'live key');
  const { secret, nextSecret } = (await database.endpoints.findSecret(endpointId, 'test')) ?? {};
  assert.equal({ secret, nextSecret }, secrets, 'webhook secrets');
  // Each attempt counts, and delays the next one.
  signInAtMs += 24 * 3_600_000;
  assert.is((await database.people.attempt('Ada', signInAtMs))?.totpSecret, 'TOTPSECRET');
  assert.is(await database.alarms.addressOf('nt_1'), '{"url":"https://hooks.example/hidden"}');
  assert.equal(column(await database.wallets.listOwn(paying.key), 'key'), [named]);
  const { addresses } = (await database.sessions.find(sale.id)) ?? {};
  assert.ok(addresses?.evm, 'the session has its address');
  assert.is((await database.refunds.findBy({ id: refunds.named }))?.destination?.key, named);
  assert.equal(
    column(
      (await database.alarms.list(50)).filter(({ code }) => code === 'row_altered'),
      'message',
    ),
    [],
  );
}

/** Ends the approved refund, which a rotation refuses. */
export const endApproval = (api: Pick<ApiServer, 'database'>, { refunds }: Contents): Promise<boolean | null> =>
  api.database().refunds.reject(refunds.approved, 'no', 1_900_000_000_000);
