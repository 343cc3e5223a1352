/**
 * The contract of the store in executable form: `src/store/store.ts`, command by command. Every implementation runs this one suite.
 * @module
 */
import { adoptionConforms } from './conformance/adoption.ts';
import { booksConform } from './conformance/books.ts';
import { creationConforms } from './conformance/creation.ts';
import { historiesConform } from './conformance/histories.ts';
import { lifetimesConform } from './conformance/lifetimes.ts';
import { lookUpsConform } from './conformance/look-ups.ts';
import { merchantsConform } from './conformance/merchants.ts';
import { operationsConform } from './conformance/operations.ts';
import { paymentsConform } from './conformance/payments.ts';
import { payoutsConform } from './conformance/payouts.ts';
import { poolsConform } from './conformance/pools.ts';
import { reorgsConform } from './conformance/reorgs.ts';
import { sweepsConform } from './conformance/sweeps.ts';
import { webhooksConform } from './conformance/webhooks.ts';
import type { MakePlace } from './place.ts';

/** @param makePlace makes an empty store, and removes it with all its connections' data when it is closed */
export function storeConforms(makePlace: MakePlace): void {
  merchantsConform(makePlace);
  poolsConform(makePlace);
  creationConforms(makePlace);
  paymentsConform(makePlace);
  reorgsConform(makePlace);
  lifetimesConform(makePlace);
  webhooksConform(makePlace);
  lookUpsConform(makePlace);
  booksConform(makePlace);
  payoutsConform(makePlace);
  adoptionConforms(makePlace);
  sweepsConform(makePlace);
  operationsConform(makePlace);
  historiesConform(makePlace);
}
