import * as fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { feesToOffer, goingTip } from '../../../src/chains/evm/payout-fees.ts';
import type { Terms } from '../../../src/core/spend.ts';

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

test('a replacement for which the base fee has become too high raises the tip only by what pools ask for', () => {
  const first = termsOf({ maxFee: 1_200_000n, tip: 1_000_000n });
  const dear = { baseFee: 1_400_000n, tip: 40_000_000_000n };
  assert.equal(feesToOffer(dear, [first]), { maxFee: 3_925_000n, tip: 1_125_000n });
  // The base fee leaves room for its tip: then it is the tip that is too low.
  const cheap = { baseFee: 200_000n, tip: 5_000_000n };
  assert.equal(feesToOffer(cheap, [first]), { maxFee: 5_400_000n, tip: 5_000_000n });
});

test('a suggested tip is bounded by what most blocks were paid', () => {
  assert.is(goingTip(40_000n, [10n, 0n, 30n, 20n]), 20n, 'the median of blocks with transactions');
  assert.is(goingTip(15n, [10n, 20n, 30n]), 15n);
  assert.is(goingTip(40_000n, [0n, 0n]), 40_000n, 'nobody paid');
  assert.is(goingTip(40_000n, []), 40_000n, 'a node without percentiles');
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
      const isPricedOut = outbid.length > 0 && outbid.every(({ maxFee, tip }) => maxFee < price.baseFee + tip);
      assert.ok(isPricedOut || offer.tip >= price.tip);
      assert.ok(offer.maxFee >= 2n * price.baseFee + offer.tip);
      for (const before of outbid) {
        assert.ok(offer.maxFee > before.maxFee && offer.maxFee * 8n >= before.maxFee * 9n);
        assert.ok(offer.tip > before.tip && offer.tip * 8n >= before.tip * 9n);
      }
    }),
  );
});

test.run();
