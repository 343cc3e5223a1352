/**
 * The freeze of the signer: nothing is signed until an approver has signed the end of exactly this freeze.
 */
import Sqlite from 'better-sqlite3';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { APPROVAL_S_MAX, approverOf, signApproval } from '../../src/signer/approval.ts';
import { signerFiles } from '../../src/signer/files.ts';
import { thawText } from '../../src/signer/freeze.ts';
import type { SignerFreeze } from '../../src/signer/protocol.ts';
import { handClock } from '../support/hand-clock.ts';
import {
  approvalOf,
  firstOf,
  newSigner,
  policySettings,
  refundOf,
  removeSigners,
  ruleOf,
  usdt,
} from '../support/temp-signer.ts';

const anna = new Uint8Array(32).fill(1);
const stranger = new Uint8Array(32).fill(2);
const clock = handClock(1_800_000_000_000);
const untilS = 1_800_000_060;
const settings = { ...policySettings, approvers: [{ name: 'Anna', key: approverOf(anna) }] };
test.after(removeSigners);

function open() {
  const signer = newSigner({ settings, clock });
  return {
    ...signer,
    ask: (id: string, nonce: number) => signer.refusal(firstOf(refundOf(id, usdt(5)), nonce)),
    thaw: (text: ReturnType<typeof thawText>, secret = anna, until = untilS) =>
      ruleOf(() => signer.service().thaw(signApproval(secret, text, until))),
  };
}

test('a frozen signer signs nothing, old attempts included, also after a restart; its journal stays readable', () => {
  const place = open();
  assert.is(place.ask('rf_1', 1), 'none');
  const { freeze, approvers } = place.service().freeze('a key was lost', 'root');
  assert.equal(
    { number: freeze?.number, reason: freeze?.reason, frozenBy: freeze?.frozenBy, approvers },
    { number: 1, reason: 'a key was lost', frozenBy: 'root', approvers: ['Anna'] },
  );
  assert.equal([place.ask('rf_1', 1), place.ask('rf_2', 2)], ['frozen', 'frozen']);
  place.restart();
  assert.equal(place.service().freezeState().freeze, freeze);
  assert.equal([place.ask('rf_1', 1), place.ask('rf_2', 2)], ['frozen', 'frozen']);
  assert.equal(place.service().freeze('another reason', 'someone').freeze, freeze, 'the first freeze stays');
  assert.is(place.service().journal('test:one', 0, 10).length, 1);
});

test('only an approver’s valid signature of this freeze ends it, and ends no later one', () => {
  const place = open();
  const { fingerprint, freeze } = place.service().freeze('drill', 'root');
  assert.ok(freeze);
  const text = thawText(fingerprint, freeze);
  const changed = (change: Partial<SignerFreeze>) => thawText(fingerprint, { ...freeze, ...change });
  const refusals: readonly string[] = [
    place.thaw(text, stranger),
    place.thaw(thawText('00000000', freeze)),
    place.thaw(changed({ number: 2 })),
    place.thaw(changed({ nonce: '0'.repeat(32) })),
    place.thaw(changed({ reason: 'other' })),
    place.thaw(approvalOf(refundOf('rf_1', usdt(5)))),
    place.thaw(text, anna, untilS - 61),
    place.thaw(text, anna, untilS + APPROVAL_S_MAX),
    ruleOf(() => place.service().thaw({ ...signApproval(stranger, text, untilS), approver: approverOf(anna) })),
  ];
  assert.equal(refusals, Array(9).fill('approval'));
  assert.is(place.ask('rf_1', 1), 'frozen');
  assert.is(place.thaw(text), 'none');
  assert.is(place.service().freezeState().freeze, null);
  assert.is(place.ask('rf_1', 1), 'none');
  assert.is(place.thaw(text), 'approval', 'nothing is frozen');
  const again = place.service().freeze('drill', 'root');
  assert.is(place.thaw(text), 'approval', 'a used thaw ends no other freeze');
  assert.equal({ number: again.freeze?.number, answer: place.ask('rf_2', 2) }, { number: 2, answer: 'frozen' });
});

test('a thaw ends nothing after an older journal was restored: numbers come again, nonces do not', () => {
  const [one, other] = [open(), open()];
  const first = one.service().freeze('drill', 'root');
  const second = other.service().freeze('drill', 'root');
  assert.ok(first.freeze && second.freeze);
  assert.is(first.freeze.number, second.freeze.number);
  assert.is(other.thaw(thawText(first.fingerprint, first.freeze)), 'approval');
});

test('the journal’s file refuses signatures and a second freeze while one is open, and keeps every row', () => {
  const place = open();
  place.sign(firstOf(refundOf('rf_1', usdt(5)), 1));
  place.service().freeze('drill', 'root');
  const client = new Sqlite(signerFiles(place.dir).journal);
  for (const [statement, why] of [
    [
      "INSERT INTO signatures SELECT 9, intent_id, 0, 1, network, terms, 't9', bytes, fence, 1 FROM signatures",
      /frozen/,
    ],
    ["INSERT INTO freezes (nonce, reason, frozen_by, frozen_at_ms) VALUES ('n', 'r', 'b', 1)", /frozen already/],
    ['DELETE FROM freezes', /append-only/],
    ["UPDATE freezes SET nonce = 'x'", /append-only/],
  ] as const)
    assert.throws(
      () => client.exec(statement),
      (error: Error) => why.test(error.message),
    );
  client.close();
});

test.run();
