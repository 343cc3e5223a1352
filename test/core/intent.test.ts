import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type Intent, isPaidBy } from '../../src/core/intent.ts';
import { refundIntent } from '../support/intents.ts';

const network = 'test:one';
const transfer = { network, role: 'refund', currency: 'USDT', toKey: 'bb', units: 5n } as const;
const refund = refundIntent({ id: 'r1', network, to: 'bb' });

test('a transfer pays a refund only if network, payee, currency and amount are the same', () => {
  assert.ok(isPaidBy({ intent: refund }, transfer));
  const others: Intent[] = [
    { ...refund, units: 4n },
    { ...refund, to: 'cc' },
    { ...refund, currency: 'USDC' },
    { ...refund, network: 'test:two' },
    { kind: 'gas', id: 'g', network, form: 'transfer', index: 0, units: 5n },
    { kind: 'sweep', id: 's', network, currency: 'USDT', from: [{ index: 0, units: 5n }] },
  ];
  for (const intent of others) assert.not(isPaidBy({ intent }, transfer), intent.kind);
  assert.not(isPaidBy({ intent: refund }, { ...transfer, role: 'gas' }), 'the gas wallet pays no refund');
});

test.run();
