/**
 * Requests to a server that is seldom asked: a connection ends with its answer. Node's own `fetch` would load a second
 * undici, which takes 7 MB in each process.
 */
import { Agent } from 'undici';

export const singleRequests = new Agent({ pipelining: 0 });
