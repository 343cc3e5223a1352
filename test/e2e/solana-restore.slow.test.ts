import { closeBooks } from '../conformance/refund.ts';
import { restoreConforms } from '../conformance/restore.ts';
import { openSolanaPayouts } from './solana.ts';

const { shop, node } = await openSolanaPayouts();
/** A signature is valid for 150 blocks. */
const pass = () => {
  for (let left = 170; left > 0; left--) node.world.mine();
};
restoreConforms(shop, { coins: 1, expiry: { pass } });
closeBooks(shop);
