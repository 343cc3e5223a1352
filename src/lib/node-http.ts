/**
 * `node:http` for programs that run all the time. An import of it reads every export, and the first look at one of them
 * loads Node's own undici, which takes 7 MB in each process and is not used.
 */
import { createRequire } from 'node:module';

const http: typeof import('node:http') = createRequire(import.meta.url)('node:http');

export const { Agent, createServer, request } = http;
