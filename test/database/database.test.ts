/** The SQLite database keeps the contract of the port. */

import { storeConforms } from '../conformance/database.ts';
import { openTempDatabase } from '../support/temp-database.ts';
import { audit } from './engine/audit.ts';

storeConforms((outageWaitS) => {
  const place = openTempDatabase(outageWaitS);
  return { ...place, audit: () => audit(place.file) };
});
