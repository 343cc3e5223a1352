/** The program that copies a database to a standby, where it is installed. */
import { spawnSync } from 'node:child_process';

const places = ['.tmp/litestream/bin/litestream', 'litestream'];

/** The program's path; null where it is not installed. */
export const litestream = places.find((path) => spawnSync(path, ['version']).status === 0) ?? null;
