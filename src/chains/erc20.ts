/**
 * Calls and events of ERC-20 (EIP-20), which is also TRC-20's interface. Pure; all hex is without `0x`.
 */

/** keccak256("Transfer(address,address,uint256)") */
export const TRANSFER_TOPIC = 'ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';
/** `balanceOf(address)`. */
export const BALANCE_SELECTOR = '70a08231';
/**
 * `isBlackListed(address)` of USDT and `isBlacklisted(address)` of USDC. A token without either cannot freeze accounts.
 */
export const FROZEN_SELECTORS = ['e47d6060', 'fe575a87'];
/** `transfer(address,uint256)`. */
const TRANSFER_SELECTOR = 'a9059cbb';
const TRANSFER_DATA = new RegExp(`^${TRANSFER_SELECTOR}0{24}([0-9a-f]{40})([0-9a-f]{64})$`);
const WORD_DIGITS = 64;

/** Pads an address key or a number's hex digits to an argument or result of a contract call: 32 bytes. */
export const word = (digits: string): string => digits.padStart(WORD_DIGITS, '0');

/** Returns the data of a call of `transfer`. */
export const transferData = (to: string, units: bigint): string =>
  `${TRANSFER_SELECTOR}${word(to)}${word(units.toString(16))}`;

/** Reads the recipient and the amount from a call's data; null unless it is exactly a call of `transfer`. */
export function readTransferData(data: string): Readonly<{ to: string; units: bigint }> | null {
  const [, to, digits] = TRANSFER_DATA.exec(data) ?? [];
  return to === undefined || digits === undefined ? null : { to, units: BigInt(`0x${digits}`) };
}
