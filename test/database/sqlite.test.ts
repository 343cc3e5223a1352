/** The SQLite store keeps the contract of the port. */
import { openTempStore } from '../support/temp-database.ts';
import { storeConforms } from '../conformance/database.ts';
import { audit } from './sqlite/audit.ts';

storeConforms((outageWaitS) => {
  const place = openTempStore(outageWaitS);
  return { ...place, audit: () => audit(place.file) };
});
