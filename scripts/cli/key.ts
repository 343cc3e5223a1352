import type { ApiKey } from '../../src/database/keys.ts';
import { moment } from './command.ts';

/** Returns when and from where a key was last used. */
export const lastUse = ({ lastUsedAtMs, lastUsedFrom }: ApiKey): string =>
  lastUsedAtMs === null ? 'never' : `${moment(lastUsedAtMs)} from ${lastUsedFrom ?? 'an unknown address'}`;

/** Says what to do about a key whose row was changed from outside. */
export const alteredLine = ({ id }: ApiKey): string =>
  `ALTERED  ${id}: somebody without the secret key has changed its row, so nothing above can be trusted, and the key is refused. Find out who can write to the database; then run \`quayside key revoke ${id}\` and create another`;
