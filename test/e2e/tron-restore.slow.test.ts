import { closeBooks } from '../conformance/refund.ts';
import { restoreConforms } from '../conformance/restore.ts';
import { openTronPayouts } from './tron.ts';

const { shop, node } = await openTronPayouts({ kind: 'depth', blocks: 2 }, { payout_expiry_s: 60 });
const send = (bytes: Uint8Array) =>
  node.ask('/wallet/broadcasthex', { transaction: Buffer.from(bytes).toString('hex') });
restoreConforms(shop, { coins: 500, hasLanes: false, send });
closeBooks(shop);
