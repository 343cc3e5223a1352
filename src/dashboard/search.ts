/**
 * What somebody pasted into the search box: recognised by its form, then looked up exactly. Anything that is nothing
 * else is an order id or its beginning.
 * @module
 */
import { chains } from '../chains/index.ts';
import type { NetworkConfig } from '../config/network.ts';
import type { SessionSearch } from '../database/session-lists.ts';
import { parseSessionId } from '../lib/session-id.ts';

/** Longer than every order id, address and transaction. */
export const SEARCHED_CHARS_MAX = 100;

const HASH = /^(?:0x)?([0-9a-f]{64})$/i;
/** A signature of 64 bytes in base58, which names a transaction. */
const SIGNATURE = /^[1-9A-HJ-NP-Za-km-z]{86,88}$/;

/** Returns the searches that fit a text, the surest first; a session's id is one of its own. */
export function readSearch(
  text: string,
  networks: readonly Pick<NetworkConfig, 'family'>[],
): readonly (SessionSearch | Readonly<{ kind: 'session'; id: string }>)[] {
  const pasted = text.trim().slice(0, SEARCHED_CHARS_MAX);
  if (pasted === '') return [];
  const id = parseSessionId(pasted);
  const hash = HASH.exec(pasted)?.[1]?.toLowerCase();
  const families = [...new Set(networks.map(({ family }) => family))];
  return [
    ...(id === null ? [] : [{ kind: 'session', id } as const]),
    ...(hash === undefined ? [] : [{ kind: 'transaction', spellings: [`0x${hash}`, hash] } as const]),
    ...(SIGNATURE.test(pasted) ? [{ kind: 'transaction', spellings: [pasted] } as const] : []),
    ...families.flatMap((family) => {
      const key = chains[family].address.parse(pasted);
      return key === null ? [] : [{ kind: 'address', family, key } as const];
    }),
    { kind: 'order', orderId: pasted },
  ];
}
