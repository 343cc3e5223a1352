/** The SQLite store keeps the contract of the port. */
import { openTempStore } from '../support/temp-store.ts';
import { storeConforms } from './conformance.ts';
import { audit } from './sqlite/audit.ts';

storeConforms((outageWaitS) => {
  const place = openTempStore(outageWaitS);
  return { ...place, audit: () => audit(place.file) };
});
