/** Doors for tests, and requests that are signed as panels sign them: by a few lines of their own. */
import { createHash } from 'node:crypto';
import { invariant } from '../../src/core/fault.ts';
import type { Database } from '../../src/database/database.ts';
import type { NewDoor } from '../../src/database/doors.ts';

export type Values = Readonly<Record<string, string | number>>;

/** Returns the text that is signed: without the signature, and without what is empty. */
export const signedText = (values: Values): string =>
  Object.entries(values)
    .filter(([name, value]) => value !== '' && !/^sign(_type|ature)?$/.test(name))
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map((pair) => pair.join('='))
    .join('&');

export const md5Of = (values: Values, key: string): string =>
  createHash('md5')
    .update(`${signedText(values)}${key}`)
    .digest('hex');

let doors = 0;

/** Adds a door of test mode to a store, in US dollars, as the operator's command does. */
export async function addDoor(
  database: Database,
  door: Pick<NewDoor, 'storeId' | 'dialect'> & Partial<NewDoor>,
): Promise<Readonly<{ id: string; key: string; pid: number }>> {
  const number = ++doors;
  const own = { id: `we_door${number}`, key: `Key${String(number).padStart(29, '0')}` };
  const settings = { currency: 'USD', takesRefunds: false, algorithm: 'dual' } as const;
  const urlOf = (pid: number) => `http://127.0.0.1/${pid}/`;
  const whole = { ...own, mode: 'test', settings, createdAtMs: 0, urlOf, ...door } as const;
  const act = { atMs: 0, operator: 'test', command: 'door add', reason: null };
  const added = await database.doors.add(whole, act);
  invariant(added.kind === 'added', 'there is room for a door');
  return { id: whole.id, key: whole.key, pid: added.pid };
}
