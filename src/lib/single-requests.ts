/**
 * Requests to a server that is seldom asked: a connection ends with its answer. Node's own `fetch` would load a second
 * undici, which takes 7 MB in each process.
 */
import { pipeline, type Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { Agent } from 'undici';

export const singleRequests = new Agent({ pipelining: 0 });

/** Decompresses the body of an answer. It fails as the body fails. */
export const gunzipped = (body: Readable): Readable => pipeline(body, createGunzip(), () => {});
