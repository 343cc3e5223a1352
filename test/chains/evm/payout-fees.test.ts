import * as fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { feesToOffer } from '../../../src/chains/evm/payout-fees.ts';
import type { Terms } from '../../../src/chains/spend.ts';

const termsOf = ({ maxFee, tip }: Readonly<{ maxFee: bigint; tip: bigint }>): Terms => ({
  max_fee_per_gas: maxFee.toString(),
  max_priority_fee_per_gas: tip.toString(),
});

test('a first attempt survives a doubling of the base fee', () => {
  assert.equal(feesToOffer({ baseFee: 10n, tip: 3n }, []), { maxFee: 23n, tip: 3n });
  assert.equal(feesToOffer({ baseFee: 0n, tip: 50_000_000n }, []), { maxFee: 50_000_000n, tip: 50_000_000n });
});

test('a replacement offers an eighth more, rounded up, of both fees', () => {
  const first = termsOf({ maxFee: 1_000_000_001n, tip: 7n });
  assert.equal(feesToOffer({ baseFee: 1n, tip: 1n }, [first]), { maxFee: 1_125_000_002n, tip: 8n });
});

test('a fee of zero is outbid', () => {
  const free = termsOf({ maxFee: 0n, tip: 0n });
  assert.equal(feesToOffer({ baseFee: 0n, tip: 0n }, [free]), { maxFee: 1n, tip: 1n });
});

test('both fees exceed every earlier offer, and the maximum covers the tip', () => {
  const wei = fc.bigInt({ min: 0n, max: 10n ** 15n });
  const offers = fc.record({ maxFee: wei, tip: wei });
  fc.assert(
    fc.property(fc.record({ baseFee: wei, tip: wei }), fc.array(offers, { maxLength: 6 }), (price, outbid) => {
      const offer = feesToOffer(price, outbid.map(termsOf));
      assert.ok(offer.tip >= price.tip);
      assert.ok(offer.maxFee >= 2n * price.baseFee + offer.tip);
      for (const before of outbid) {
        assert.ok(offer.maxFee > before.maxFee && offer.maxFee * 8n >= before.maxFee * 9n);
        assert.ok(offer.tip > before.tip && offer.tip * 8n >= before.tip * 9n);
      }
    }),
  );
});

test.run();
