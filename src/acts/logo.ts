/** A store's logo: a small PNG. */
import type { Logo } from '../database/stores.ts';
import { hashOf } from '../lib/id.ts';
import { type Sentence, say } from './act.ts';

export const LOGO_BYTES_MAX = 32 * 1024;
const PIXELS_MAX = 2048;
/** The signature, and the header of the first chunk (https://www.w3.org/TR/png-3/#5DataRep). */
const PNG_START = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex');
/** Width and height, four bytes each. */
const PNG_SIZE_AT = 16;
const PNG_BYTES_MIN = 33;

/** Returns the width and height of a PNG in pixels; null for what is none. */
function pngSize(bytes: Buffer): readonly [width: number, height: number] | null {
  if (bytes.length < PNG_BYTES_MIN || !bytes.subarray(0, PNG_START.length).equals(PNG_START)) return null;
  return [bytes.readUInt32BE(PNG_SIZE_AT), bytes.readUInt32BE(PNG_SIZE_AT + 4)];
}

/** Reads a logo in base64. */
export function readLogo(text: string): Logo | Sentence {
  const bytes = Buffer.from(text, 'base64');
  const isFit = bytes.length <= LOGO_BYTES_MAX && pngSize(bytes)?.every((pixels) => pixels > 0 && pixels <= PIXELS_MAX);
  if (isFit) return { hash: hashOf(bytes), bytes };
  return say(
    'The logo was not taken: it has to be a PNG of at most {kib} KiB, and at most {pixels} pixels wide and high.',
    { kib: LOGO_BYTES_MAX / 1024, pixels: PIXELS_MAX },
  );
}
