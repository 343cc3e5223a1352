import { closeBooks, refundConforms } from '../conformance/refund.ts';
import { openSolanaPayouts } from './solana.ts';

const { shop } = await openSolanaPayouts();
refundConforms(shop, { coinsLate: 1, gas: null });
closeBooks(shop);
