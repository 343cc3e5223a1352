import { closeBooks } from '../conformance/refund.ts';
import { restoreConforms } from '../conformance/restore.ts';
import { openSolanaPayouts } from './solana.ts';

const { shop } = await openSolanaPayouts();
restoreConforms(shop, { coins: 1, hasLanes: false });
closeBooks(shop);
