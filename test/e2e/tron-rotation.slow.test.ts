import { closeBooks } from '../conformance/refund.ts';
import { rotationConforms } from '../conformance/rotation.ts';
import { openTronPayouts } from './tron.ts';

const { shop, pass } = await openTronPayouts({ blocks: 2, finality: false, tiers: null }, 8);
rotationConforms(shop, { coins: 500, staysMax: 100_000_000n, rotatesGas: true, pass });
closeBooks(shop);
