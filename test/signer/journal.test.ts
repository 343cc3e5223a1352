/**
 * The journal's constraints: whatever a program writes, the file itself refuses a second payment.
 */
import { statSync } from 'node:fs';
import Sqlite from 'better-sqlite3';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { signerFiles } from '../../src/signer/files.ts';
import { createJournal, type Journal, type NewSignature, openJournal } from '../../src/signer/journal.ts';
import { refuses } from '../support/refusal.ts';
import { newSigner, payer, refundOf, removeSigners, terms, usdt } from '../support/temp-signer.ts';

test.after(removeSigners);

let signatures = 0;

/** Returns a signature with a new transaction. */
function entryOf(
  id: string,
  generation: number,
  attempt: number,
  nonce: number | null,
  more: Partial<NewSignature> = {},
): NewSignature {
  const tx = `0x${(++signatures).toString(16).padStart(64, '0')}`;
  return {
    intent: refundOf(id, usdt(5)),
    generation,
    attempt,
    proof: generation === 0 ? null : 'dead',
    terms: terms(nonce ?? 0),
    payer,
    nonce,
    fence: 1,
    capUses: [{ cap: 'USDT', units: usdt(5) }],
    approval: null,
    signed: { tx, bytes: new Uint8Array([signatures]) },
    atMs: 1000,
    ...more,
  };
}

function newJournal(): Readonly<{ journal: Journal; file: string }> {
  const signer = newSigner();
  const journal = signer.journal();
  for (const network of ['test:one', 'test:two'] as const) journal.raiseFence(network, 1, 0);
  return { journal, file: signerFiles(signer.dir).journal };
}

const broken = (work: () => void, why: RegExp) => assert.throws(work, (error: Error) => why.test(error.message));

test('a journal is created once, for one seed, with access for its owner', () => {
  const { file, journal } = newJournal();
  assert.is(statSync(file).mode & 0o777, 0o600);
  assert.is(statSync(`${file}-wal`).mode & 0o777, 0o600);
  assert.is(journal.fingerprint, '5436d724');
  refuses('journal_exists', () => createJournal(file, '5436d724'));
  assert.is(journal.fence('test:one'), 1, 'the journal was not changed');
  refuses('journal_missing', () => openJournal(`${file}.none`));
});

const wrong: readonly (readonly [what: string, why: RegExp, entry: () => NewSignature])[] = [
  ['an attempt twice', /generation follows/, () => entryOf('rf_1', 0, 0, 1)],
  ['an attempt that skips one', /attempt follows/, () => entryOf('rf_1', 0, 2, 1)],
  ['a generation that skips one', /generation follows/, () => entryOf('rf_1', 2, 0, 2)],
  ['a generation that starts with a replacement', /FOREIGN KEY|attempt follows/, () => entryOf('rf_1', 1, 1, 2)],
  ['a generation without proof', /CHECK/, () => entryOf('rf_1', 1, 0, 2, { proof: null })],
  ['a first generation with proof', /CHECK/, () => entryOf('rf_2', 0, 0, 2, { proof: 'dead' })],
  ['a number that another intent has', /UNIQUE.*nonce/, () => entryOf('rf_2', 0, 0, 1)],
  ['a number that an earlier generation has', /UNIQUE.*nonce/, () => entryOf('rf_1', 1, 0, 1)],
  [
    'a transaction twice',
    /UNIQUE.*tx/,
    () => entryOf('rf_2', 0, 0, 2, { signed: { tx: 'same', bytes: new Uint8Array(1) } }),
  ],
  ['a lower fence', /highest fence/, () => entryOf('rf_2', 0, 0, 2, { fence: 0 })],
  [
    'another network',
    /same network/,
    () => entryOf('rf_1', 1, 0, 2, { intent: refundOf('rf_1', usdt(5), { network: 'test:two' }) }),
  ],
];

for (const [what, why, entry] of wrong) {
  test(`the file refuses ${what} and keeps nothing of it`, () => {
    const { journal } = newJournal();
    journal.record(entryOf('rf_1', 0, 0, 1, { signed: { tx: 'same', bytes: new Uint8Array(1) } }));
    broken(() => journal.record(entry()), why);
    assert.is(journal.entries('test:one', 0, 10).length, 1);
    assert.is(journal.intent('rf_2'), null);
    assert.is(journal.usedSince('test:one', 'USDT', 0), usdt(5));
    journal.record(entryOf('rf_2', 0, 0, 2));
  });
}

test('if transactions expire, a second attempt is refused and a new generation is not', () => {
  const { journal } = newJournal();
  journal.record(entryOf('rf_1', 0, 0, null));
  broken(() => journal.record(entryOf('rf_1', 0, 1, null)), /attempt follows/);
  journal.record(entryOf('rf_1', 1, 0, null));
  broken(() => journal.record(entryOf('rf_1', 0, 1, null)), /attempt follows/);
  const newest = { generation: 1, nonce: null, attempts: 1, terms: terms(0), signedAtMs: 1000 };
  assert.equal(journal.intent('rf_1')?.newest, newest);
});

test('a fence only rises', () => {
  const { journal } = newJournal();
  journal.raiseFence('test:one', 7, 0);
  broken(() => journal.raiseFence('test:one', 7, 0), /only rises|UNIQUE/);
  broken(() => journal.raiseFence('test:one', 6, 0), /only rises/);
  broken(() => journal.record(entryOf('rf_1', 0, 0, 1)), /highest fence/);
  journal.record(entryOf('rf_1', 0, 0, 1, { fence: 7 }));
  assert.equal([journal.fence('test:one'), journal.fence('test:two')], [7, 1]);
  journal.record(entryOf('rf_2', 0, 0, 2, { fence: 8 }));
  assert.is(journal.fence('test:one'), 8, 'a signature raises it');
  broken(() => journal.record(entryOf('rf_3', 0, 0, 2, { fence: 9 })), /UNIQUE.*nonce/);
  assert.is(journal.fence('test:one'), 8, 'and one that is not recorded does not');
});

test('no row is ever changed or deleted, not even by REPLACE', () => {
  const { journal, file } = newJournal();
  const approval = { approver: 'a'.repeat(64), untilS: 1, signature: 'b'.repeat(128) };
  journal.record(entryOf('rf_1', 0, 0, 1, { approval }));
  broken(() => journal.record(entryOf('rf_2', 0, 0, 2, { approval })), /UNIQUE.*approvals/);
  const client = new Sqlite(file);
  try {
    client.pragma('recursive_triggers = ON');
    for (const [table, column] of [
      ['owner', 'fingerprint'],
      ['intents', 'intent'],
      ['generations', 'payer'],
      ['signatures', 'tx'],
      ['fences', 'seen_at_ms'],
      ['cap_uses', 'units'],
      ['approvals', 'until_s'],
    ]) {
      broken(() => client.exec(`UPDATE ${table} SET ${column} = ${column}`), /append-only/);
      broken(() => client.exec(`DELETE FROM ${table}`), /append-only|FOREIGN KEY/);
    }
    broken(() => client.exec("INSERT OR REPLACE INTO owner (only, fingerprint) VALUES (1, 'other')"), /append-only/);
    broken(() => client.exec("INSERT INTO owner (only, fingerprint) VALUES (2, 'other')"), /CHECK/);
  } finally {
    client.close();
  }
});

test('entries are paged, for each network separately', () => {
  const { journal } = newJournal();
  for (let at = 1; at <= 5; at++) journal.record(entryOf(`rf_${at}`, 0, 0, at));
  journal.record(entryOf('rf_9', 0, 0, 1, { intent: refundOf('rf_9', 1n, { network: 'test:two' }) }));
  const all = journal.entries('test:one', 0, 10);
  assert.equal(
    all.map(({ intent }) => intent.id),
    ['rf_1', 'rf_2', 'rf_3', 'rf_4', 'rf_5'],
  );
  assert.equal(journal.entries('test:one', all[1]?.id ?? 0, 2), all.slice(2, 4));
  assert.equal(
    journal.entries('test:two', 0, 10).map(({ intent }) => [intent.id, intent.kind]),
    [['rf_9', 'refund']],
  );
});

test('large amounts add up exactly', () => {
  const { journal } = newJournal();
  const huge = 10n ** 40n + 1n;
  for (let at = 1; at <= 3; at++)
    journal.record(entryOf(`rf_${at}`, 0, 0, at, { capUses: [{ cap: 'USDT', units: huge }], atMs: at }));
  assert.equal([journal.usedSince('test:one', 'USDT', 2), journal.usedSince('test:one', 'USDT', 4)], [2n * huge, 0n]);
  assert.equal([journal.usedSince('test:one', 'gas', 0), journal.usedSince('test:two', 'USDT', 0)], [0n, 0n]);
});

test('if the file cannot be written, nothing is signed, with its own fault, and later it works', () => {
  const { journal, file } = newJournal();
  const client = new Sqlite(file);
  client.exec('BEGIN IMMEDIATE');
  try {
    refuses('signer_storage_unavailable', () => journal.record(entryOf('rf_1', 0, 0, 1)));
  } finally {
    client.exec('COMMIT');
    client.close();
  }
  assert.is(journal.entries('test:one', 0, 10).length, 0);
  journal.record(entryOf('rf_1', 0, 0, 1));
});

test.run();
