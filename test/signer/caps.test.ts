/**
 * Caps and approvals, counted from the journal by the signer's own clock.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Intent, RefundIntent } from '../../src/core/intent.ts';
import { APPROVAL_S_MAX, approverOf, isApproved, signApproval } from '../../src/signer/approval.ts';
import type { PolicySettings } from '../../src/signer/policy.ts';
import { handClock } from '../support/hand-clock.ts';
import { gasIntent, sweepIntent } from '../support/intents.ts';
import {
  approvalOf,
  firstOf,
  newSigner,
  policySettings,
  refundOf,
  removeSigners,
  terms,
  usdt,
} from '../support/temp-signer.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const secret = new Uint8Array(32).fill(1);
const settings: PolicySettings = { ...policySettings, approvers: [{ name: 'Anna', key: approverOf(secret) }] };

/**
 * A signer with its own clock, which starts at noon, and increasing nonces. Caps: 100 per refund, 250 per
 * hour, 600 per day.
 */
function open(policy: PolicySettings) {
  const signer = newSigner({ settings: policy, clock: handClock(20_000 * DAY_MS + 12 * HOUR_MS) });
  let count = 0;
  return {
    ...signer,
    /** Returns `signed`, or the rule that refuses the refund. */
    refund(whole: number, more: Partial<RefundIntent> = {}): string {
      count++;
      const code = signer.refusal(firstOf(refundOf(`rf_${count}`, usdt(whole), more), count));
      return code.replace('none', 'signed');
    },
  };
}

test.after(removeSigners);
const testAt = (title: string, work: (place: ReturnType<typeof open>) => void, policy = settings) =>
  test(title, () => work(open(policy)));

testAt('one refund: exactly the cap is allowed, a base unit more is not', ({ refund }) => {
  assert.is(refund(100), 'signed');
  assert.is(refund(100.01), 'approval');
});

testAt('an hour: a sum up to the cap is allowed, and again an hour later, to the millisecond', ({ refund, clock }) => {
  assert.equal([refund(100), refund(100), refund(50), refund(0.01)], ['signed', 'signed', 'signed', 'cap']);
  clock.advance(HOUR_MS - 1);
  assert.is(refund(0.01), 'cap');
  clock.advance(1);
  assert.is(refund(100), 'signed');
});

testAt('the hour is a sliding window, not an hour of the clock', ({ refund, clock }) => {
  clock.advance(HOUR_MS - 60_000);
  assert.equal([refund(100), refund(100)], ['signed', 'signed']);
  clock.advance(120_000);
  assert.equal([refund(100), refund(50)], ['cap', 'signed']);
});

testAt('a day is a UTC day', ({ refund, clock }) => {
  for (let hour = 0; hour < 3; hour++) {
    assert.equal([refund(100), refund(100)], ['signed', 'signed']);
    clock.advance(2 * HOUR_MS);
  }
  assert.is(refund(0.01), 'cap', 'six hundred have been signed since noon');
  clock.advance(6 * HOUR_MS - 1);
  assert.is(refund(100), 'cap', 'the last millisecond of the day');
  clock.advance(1);
  assert.is(refund(100), 'signed', 'the first millisecond of the next day');
});

testAt('a restart does not reset the caps', (place) => {
  assert.equal([place.refund(100), place.refund(100)], ['signed', 'signed']);
  place.restart();
  assert.equal([place.refund(50.01), place.refund(50), place.refund(0.01)], ['cap', 'signed', 'cap']);
  place.restart();
  assert.is(place.refund(0.01), 'cap');
});

testAt('setting the clock back frees nothing', ({ refund, clock }) => {
  assert.equal([refund(100), refund(100), refund(50)], ['signed', 'signed', 'signed']);
  clock.advance(-3 * DAY_MS);
  assert.is(refund(1), 'cap');
});

testAt('other networks and refused refunds do not count', ({ refund }) => {
  const other = { network: 'test:two' as const, units: 100n * 10n ** 18n };
  assert.equal(
    [refund(100), refund(500), refund(100), refund(0, other), refund(50)],
    ['signed', 'approval', 'signed', 'signed', 'signed'],
  );
});

testAt('each new generation uses the caps again, a replacement does not', ({ refund, refusal }) => {
  assert.is(refund(100), 'signed');
  const again = (generation: number, attempt: number, nonce: number) => {
    const more = { proof: generation ? ('failed' as const) : null, terms: terms(nonce, 20 + attempt) };
    return refusal(firstOf(refundOf('rf_1', usdt(100)), nonce, { generation, attempt, ...more }));
  };
  assert.equal([again(0, 1, 1), again(1, 0, 50), again(1, 1, 50)], ['none', 'none', 'none']);
  assert.is(again(2, 0, 51), 'cap', 'three times 100 is more than 250');
  assert.equal([refund(50), refund(0.01)], ['signed', 'cap']);
});

testAt('gas has its own caps; sweeps have none', ({ sign, refusal, clock, refund }) => {
  let count = 0;
  const gas = (milli: bigint): string => {
    count++;
    return refusal(firstOf(gasIntent({ id: `ga_${count}`, index: count, units: milli * 10n ** 15n }), count));
  };
  assert.equal(
    [gas(11n), gas(10n), gas(10n), gas(6n), gas(5n), gas(1n)],
    ['cap', 'none', 'none', 'cap', 'none', 'cap'],
  );
  clock.advance(12 * HOUR_MS);
  assert.is(gas(10n), 'none');
  sign(firstOf(sweepIntent({ from: [{ index: 1, units: usdt(1_000_000) }] }), 0));
  assert.is(refund(100), 'signed', 'neither counts for refunds');
});

const capped = (more: object): PolicySettings => ({
  ...settings,
  networks: { ...settings.networks, 'test:one': { ...policySettings.networks['test:one'], ...more } as never },
});

testAt(
  'fees count at their highest, for refunds, sweeps and gas, by the hour and the day, also after a restart',
  (place) => {
    let count = 0;
    // 65,000 gas at 20 gwei: 0.0013 for each.
    const kinds: readonly ((id: string) => Intent)[] = [
      (id) => refundOf(`rf_${id}`, 1n),
      (id) => sweepIntent({ id: `sw_${id}` }),
      (id) => gasIntent({ id: `ga_${id}` }),
    ];
    const ask = (): string => {
      count++;
      const intent = kinds[count % 3]?.(String(count));
      assert.ok(intent);
      return place.refusal(firstOf(intent, count));
    };
    for (let hour = 0; hour < 2; hour++) {
      assert.equal([ask(), ask(), ask(), ask()], ['none', 'none', 'none', 'cap']);
      place.restart();
      assert.is(ask(), 'cap');
      place.clock.advance(HOUR_MS);
    }
    assert.equal([ask(), ask()], ['none', 'cap'], 'seven in a day');
  },
  capped({ fee_caps: { hour: '0.0039', day: '0.0091' } }),
);

testAt(
  'the number of signatures has caps by the hour and the day',
  (place) => {
    assert.equal(
      Array.from({ length: 4 }, () => place.refund(0.01)),
      ['signed', 'signed', 'signed', 'cap'],
    );
    place.clock.advance(HOUR_MS);
    place.restart();
    assert.equal([place.refund(0.01), place.refund(0.01)], ['signed', 'cap']);
    place.clock.advance(12 * HOUR_MS);
    assert.is(place.refund(0.01), 'signed');
  },
  capped({ count_caps: { hour: 3, day: 4 } }),
);

// ── Approvals ────────────────────────────────────────────────────────────────────────────────────────────────────────

const big = refundOf('rf_1', usdt(5000));

test('an approval covers one refund with its amount, its destination and its end', () => {
  const approval = signApproval(secret, approvalOf(big), 1000);
  assert.ok(isApproved(approval, approvalOf(big)));
  for (const change of [
    { id: 'rf_2' },
    { units: big.units + 1n },
    { to: 'c'.repeat(40) },
    { currency: 'USDC' },
    { network: 'test:two' },
    { mac: '0'.repeat(64) },
  ] as const) {
    assert.not.ok(isApproved(approval, approvalOf({ ...big, ...change })), JSON.stringify(Object.keys(change)));
  }
  assert.not.ok(isApproved({ ...approval, untilS: 1001 }, approvalOf(big)));
  assert.not.ok(isApproved({ ...approval, approver: approverOf(new Uint8Array(32).fill(2)) }, approvalOf(big)));
  for (const signature of ['', 'zz', '0'.repeat(128), `${approval.signature}00`, approval.signature.toUpperCase()]) {
    assert.not.ok(isApproved({ ...approval, signature }, approvalOf(big)), signature);
  }
});

/** Anna's, and that of the second approver. */
const [anna, bob] = [secret, new Uint8Array(32).fill(3)];
const twoApprovers = { ...settings, approvers: [...settings.approvers, { name: 'Bob', key: approverOf(bob) }] };

function needsApproval({ refusal, clock }: ReturnType<typeof open>): void {
  const nowS = clock.nowS();
  const ask = (approval: ReturnType<typeof signApproval> | null) => refusal(firstOf(big, 1, { approval }));
  const by = (key: Uint8Array, untilS: number, refund = big) => signApproval(key, approvalOf(refund), untilS);
  const stranger = new Uint8Array(32).fill(2);
  assert.is(ask(null), 'approval');
  const wrong = {
    'signed by a stranger': by(stranger, nowS + 60),
    'for another refund': by(anna, nowS + 60, refundOf('rf_2', usdt(5000))),
    'in somebody else’s name': { ...by(anna, nowS + 61), approver: approverOf(bob) },
    expired: by(anna, nowS - 1),
    'valid for too long': by(anna, nowS + APPROVAL_S_MAX + 1),
  };
  for (const [what, approval] of Object.entries(wrong)) assert.is(ask(approval), 'approval', what);
  const other = refundOf('rf_1', usdt(5000), { to: 'c'.repeat(40) });
  const voided = by(anna, nowS + 60);
  assert.is(refusal(firstOf(other, 1, { approval: voided })), 'approval', 'a changed destination voids an approval');
  assert.is(ask(by(bob, nowS)), 'none', 'one that is valid, in its last second');
}
testAt('a refund above the cap needs a valid approval by an approver in the policy', needsApproval, twoApprovers);

testAt('an approved refund uses up none of the caps, and its approval is recorded', (place) => {
  assert.equal([place.refund(100), place.refund(100), place.refund(50)], ['signed', 'signed', 'signed']);
  const over = refundOf('rf_over', usdt(5));
  const approval = signApproval(secret, approvalOf(over), place.clock.nowS() + 7_200);
  assert.is(place.refusal(firstOf(over, 70)), 'cap');
  place.sign(firstOf(over, 70, { approval }));
  place.restart();
  assert.is(place.refund(0.01), 'cap');
  place.clock.advance(HOUR_MS);
  assert.equal([place.refund(100), place.refund(100), place.refund(50)], ['signed', 'signed', 'signed']);
  // Otherwise an engine that has one approval gets the amount signed again and again.
  const again = (untilS: number) => {
    const approval = signApproval(secret, approvalOf(over), untilS);
    return place.refusal(firstOf(over, 71, { generation: 1, proof: 'failed', approval }));
  };
  assert.is(again(approval.untilS), 'approval', 'it was used');
  assert.is(again(place.clock.nowS() + 60), 'none', 'a new one');
});

testAt('a signature over words that the signer’s policy does not say is worth nothing', ({ refusal, clock }) => {
  const untilS = clock.nowS() + 60;
  const { address } = policySettings.networks['test:one']?.tokens[0] ?? { address: '' };
  const lies = [
    { token: { symbol: 'USDT', address, decimals: 8 } },
    { token: { symbol: 'USDT', address: `0x${'1'.repeat(40)}`, decimals: 6 } },
    { chainId: '1' },
  ] as const;
  for (const lie of lies) {
    const approval = signApproval(secret, approvalOf(big, lie), untilS);
    assert.is(refusal(firstOf(big, 1, { approval })), 'approval', JSON.stringify(lie));
  }
});

test('what an approver signs says network, contract, amount and payee as people read them', () => {
  assert.equal(
    approvalOf(refundOf('rf_1', usdt(5000.5), { session: { id: 'cs_1', amount: '5000.50' } }))(1000).slice(0, 6),
    [
      'quayside payout approval v2',
      'payout: refund rf_1 of session cs_1, 5000.50',
      'network: test:one (evm, chain 31337)',
      'token: USDT, contract 0xdAC17F958D2ee523a2206206994597C13D831ec7',
      'amount: 5000.50 USDT (5000500000 base units)',
      'pay to: 0xbBbBBBBbbBBBbbbBbbBbbbbBBbBbbbbBbBbbBBbB',
    ],
  );
});

test.run();
