/** Names of processes for other machines. */
import { hostname } from 'node:os';

/** Names a program of one data folder: the same after a restart, and another on each machine. */
export const holderOf = (dataDir: string, program: string): string => `${program} on ${hostname()}:${dataDir}`;
