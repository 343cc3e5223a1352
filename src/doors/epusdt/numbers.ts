/**
 * Numbers of JSON, as languages write them into the text that they sign.
 */
import type { DoorSpelling } from '../../core/door.ts';
import { shortest } from '../words.ts';

/** Go writes an exponent from this one on. */
const GO_EXPONENT_MIN = 6;

/** Returns a decimal below 10^9 as a client of this spelling writes it. */
export function spelled(text: string, spelling: DoorSpelling): string {
  const plain = shortest(text);
  if (spelling === 'shortest') return plain;
  // A double, because that is what the client has.
  const value = Number(plain);
  if (spelling === 'twelve') return shortest(value.toFixed(12));
  const [digits = '', exponent = ''] = value.toExponential().split('e+');
  return Number(exponent) < GO_EXPONENT_MIN ? plain : `${digits}e+${exponent.padStart(2, '0')}`;
}

/** Returns what a client may have signed for a number; usual texts come first. */
export function spellings(literal: string): readonly Readonly<{ text: string; spelling: DoorSpelling }>[] {
  const plain = shortest(literal);
  const usual = [literal, plain, Number(plain).toFixed(2), `${plain}.0`];
  return [
    ...usual.map((text) => ({ text, spelling: 'shortest' as const })),
    ...(['go', 'twelve'] as const).map((spelling) => ({ text: spelled(plain, spelling), spelling })),
  ];
}
