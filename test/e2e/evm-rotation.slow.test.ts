import { closeBooks } from '../conformance/refund.ts';
import { rotationConforms } from '../conformance/rotation.ts';
import { openEvmPayouts } from './evm.ts';

const { shop } = await openEvmPayouts();
rotationConforms(shop, { coins: 1, staysMax: 10n ** 15n, rotatesGas: true });
closeBooks(shop);
