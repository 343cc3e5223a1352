/** The SQLite store keeps the contract of the port. */
import { openTempStore } from '../support/temp-store.ts';
import { storeConforms } from './conformance.ts';

storeConforms(openTempStore);
