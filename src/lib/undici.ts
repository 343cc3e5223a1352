/**
 * The parts of undici that are used. Its main module also loads a fetch, caches, mocks and WebSockets: four fifths of
 * its code, which would take a good part of each process's start and several megabytes of its memory. The files are not
 * undici's documented interface, so its version is exact, and tests of every part run over real sockets.
 * @module
 */
import { createRequire } from 'node:module';
import type * as undici from 'undici';

type Undici = typeof undici;

const load = createRequire(import.meta.url);

export const Pool: Undici['Pool'] = load('undici/lib/dispatcher/pool.js');
export const Client: Undici['Client'] = load('undici/lib/dispatcher/client.js');
export const buildConnector: Undici['buildConnector'] = load('undici/lib/core/connect.js');
export const errors: Undici['errors'] = load('undici/lib/core/errors.js');

// As the main module does for all of its calls.
Object.assign(load('undici/lib/dispatcher/dispatcher.js').prototype, {
  request: load('undici/lib/api/api-request.js'),
});
