/**
 * PostgreSQL's driver. It is loaded where such a database is opened: with SQLite it would take memory in each process
 * for nothing.
 */
import { createRequire } from 'node:module';

const load = createRequire(import.meta.url);

export const pg = (): typeof import('pg') => load('pg');
