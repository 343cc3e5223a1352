import { closeBooks } from '../conformance/refund.ts';
import { openEvmPayouts } from './evm.ts';
import { payoutTroubleConforms } from './payout-trouble.ts';

const bench = await openEvmPayouts();
payoutTroubleConforms(bench, () =>
  bench.node.rpc('anvil_setNextBlockBaseFeePerGas', [`0x${(300n * 10n ** 9n).toString(16)}`]),
);
closeBooks(bench.shop);
