import { closeBooks } from '../conformance/refund.ts';
import { rotationConforms } from '../conformance/rotation.ts';
import { openSolanaPayouts } from './solana.ts';

const { shop } = await openSolanaPayouts();
rotationConforms(shop, { coins: 1, staysMax: 3_000_000n, rotatesGas: true });
closeBooks(shop);
