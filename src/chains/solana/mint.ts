/**
 * Reads mints as accounts: whether one is a token of the classic token program, and its decimals. Layout of the 82
 * bytes: spl-token, `state.rs` (byte 44 decimals, byte 45 initialised).
 */
import { type Fault, permanent, transient } from '../../core/fault.ts';
import { TOKEN_PROGRAM } from './wire.ts';

const MINT_BYTES = 82;
const AT_DECIMALS = 44;
const AT_INITIALISED = 45;

/**
 * Returns the mint's decimals, or a fault. It is the transient `token_missing` if there is no account, the permanent
 * `token_not_a_contract` if the account is no mint.
 * @param account as `getMultipleAccounts` answers with `encoding: base64`; null if there is none
 * @param place the node, for messages
 */
export function readMint(account: unknown, mint: string, place: string): number | Fault {
  if (account === null) {
    return transient(
      'token_missing',
      `there is no account at the token address ${mint} on the chain of ${place}. The node may have just started and still show an old state; otherwise correct the network's token address, or point its url at the right chain`,
    );
  }
  const { owner, data } = (account ?? {}) as { owner?: unknown; data?: unknown };
  const text = Array.isArray(data) && typeof data[0] === 'string' ? data[0] : '';
  const bytes = Buffer.from(text, 'base64');
  const decimals = bytes[AT_DECIMALS];
  if (owner === TOKEN_PROGRAM && bytes.length === MINT_BYTES && bytes[AT_INITIALISED] === 1 && decimals !== undefined) {
    return decimals;
  }
  return permanent(
    'token_not_a_contract',
    `${mint} is not a mint of the classic token program on the chain of ${place}${typeof owner === 'string' ? `, but an account of ${owner}` : ''}: correct the network's token address, or point its url at the right chain`,
  );
}
