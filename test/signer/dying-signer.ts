/**
 * A signer that dies, as by `kill -9`, at the moment of signing that its second argument names; `never` survives. Its
 * first argument is its folder. Everything but the dying is real.
 */

import { systemClock } from '../../src/lib/clock.ts';
import { openLog } from '../../src/lib/log.ts';
import { signerFiles } from '../../src/signer/files.ts';
import type { Journal } from '../../src/signer/journal.ts';
import { serveSigningService } from '../../src/signer/server.ts';
import { openSigningServiceIn } from '../support/temp-signer.ts';

const [dir = '', moment = 'never'] = process.argv.slice(2);
const die = (): never => {
  process.kill(process.pid, 'SIGKILL');
  throw new Error('no signal is as fast as that');
};

const dying = (journal: Journal): Journal => ({
  ...journal,
  record(entry) {
    if (moment === 'before the commit') die();
    // Terms are serialised after intent and generation are written, and before the signature is.
    const terms = { ...entry.terms, toJSON: moment === 'within the commit' ? die : undefined };
    journal.record({ ...entry, terms: terms as unknown as typeof entry.terms });
    if (moment === 'after the commit') die();
  },
});

const { service } = openSigningServiceIn(dir, systemClock, { wrap: dying });
await serveSigningService({ socket: signerFiles(dir).socket, service, log: openLog('test', 'silent') });
process.send?.({ ready: true });
