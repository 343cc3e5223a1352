/**
 * The parts of undici that are used. Its main module also loads a fetch, caches, mocks and WebSockets: four fifths of
 * its code, which would take 4 MB in each process, 25 MB in the sandbox's six that use it. The files are not
 * undici's documented interface, so its version is exact, and tests of every part run over real sockets.
 */
import type * as undici from 'undici';
import request from 'undici/lib/api/api-request.js';
import connector from 'undici/lib/core/connect.js';
import allErrors from 'undici/lib/core/errors.js';
import client from 'undici/lib/dispatcher/client.js';
import dispatcher from 'undici/lib/dispatcher/dispatcher.js';
import pool from 'undici/lib/dispatcher/pool.js';

type Undici = typeof undici;

export const Pool: Undici['Pool'] = pool;
export const Client: Undici['Client'] = client;
export const buildConnector: Undici['buildConnector'] = connector;
export const errors: Undici['errors'] = allErrors;

// As the main module does for all of its calls.
const { prototype }: Undici['Dispatcher'] = dispatcher;
Object.assign(prototype, { request });
