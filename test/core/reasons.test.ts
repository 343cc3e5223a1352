/** The reasons of money out: few codes, each described to people, and each that needs a person with a command. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { isPassing, reason, reasonCodes } from '../../src/core/reasons.ts';

const CODES_MAX = 14;
const network = 'test:one';
const generations = { id: 'rf_1', isPayback: true, tx: '0x1', count: 5 };

const examples = [
  reason('network_not_followed', { network, state: 'behind' }),
  reason('payouts_frozen', { network, by: 'anna', why: 'theft', end: '`quayside payout thaw`' }),
  reason('payouts_settling', { network, until: 'block 7 is final and read (5 is)' }),
  reason('payouts_not_adopted', { network, what: 'fence 4' }),
  reason('signer_journal_behind', { network, what: 'entry 7' }),
  reason('payout_bytes_differ', { id: 'rf_1', network, tx: '0x1', differences: 'payee' }),
  reason('payout_generations', generations),
  reason('payout_not_included', { ...generations, pauseMs: 60_000, ended: 'expired' }),
  reason('refund_uncovered'),
  reason('refund_not_final'),
  reason('refund_unapproved'),
  reason('refund_maybe_paid'),
  reason('refund_equals_transfer', { id: 'rf_1', tx: '0x1' }),
  reason('refund_store_suspended'),
];

test('there are at most 14 reasons, and each has an example here', () => {
  assert.ok(reasonCodes.length <= CODES_MAX, `${reasonCodes.length} codes`);
  assert.equal(examples.map(({ code }) => code).sort(), [...reasonCodes].sort());
});

test('a reason that needs a person names the command that helps', () => {
  for (const { code, message } of examples) assert.ok(isPassing(code) || message.includes('`quayside '), code);
});

test('a code that is not listed needs a person', () => {
  assert.equal(['refund_not_final', 'signer_refused_mac', 'toString'].map(isPassing), [true, false, false]);
});

test('only a refund can be rejected', () => {
  const { message } = reason('payout_generations', { ...generations, isPayback: false });
  assert.not.match(message, 'refund reject');
});

test.run();
