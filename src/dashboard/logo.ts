/**
 * Checks a store's logo: a small PNG, or an SVG that only draws. The page shows it as an image, where its scripts could
 * not run; this also refuses what could act when somebody opens the file directly.
 *
 * PNG: https://www.w3.org/TR/png-3/#5DataRep. SVG: https://www.w3.org/TR/SVG2/.
 */
import { createHash } from 'node:crypto';
import { permanent } from '../core/fault.ts';
import type { Logo } from '../database/stores.ts';

export const LOGO_BYTES_MAX = 32 * 1024;
const PIXELS_MAX = 2048;
const PNG_START = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex');
/** After the signature and the header of the first chunk: width and height, four bytes each. */
const PNG_SIZE_AT = 16;
const PNG_BYTES_MIN = 33;

const SVG_START = /^\uFEFF?\s*(?:<\?xml[^>]*\?>\s*)?(?:<!--[\s\S]*?-->\s*)*<svg[\s>]/;
/** What an SVG could contain besides drawings, and what people call it. */
const notDrawing: readonly Readonly<{ pattern: RegExp; what: string }>[] = [
  { pattern: /<!(DOCTYPE|ENTITY)/i, what: 'a DOCTYPE' },
  { pattern: /<\s*(?:[^\s<>/:]+:)?script/i, what: 'a script' },
  { pattern: /<\s*(?:[^\s<>/:]+:)?(foreignObject|iframe|embed|object)/i, what: 'embedded content' },
  // Escapes of XML (`&#115;`) or of styles (`\72`) would hide text from the patterns below.
  { pattern: /&#|\\/, what: 'an escaped character' },
  { pattern: /[\s"'/]on[a-z]+\s*=/i, what: 'an event handler' },
  { pattern: /javascript\s*:/i, what: 'a script link' },
  { pattern: /(?:href|src)\s*=\s*["']?\s*(?!["'#]|data:image\/(png|jpeg))\S/i, what: 'an external link' },
  { pattern: /@import|url\(\s*["']?\s*(?!["'#])\S/i, what: 'an external style' },
];

const refused = (why: string) => permanent('logo_invalid', `the logo ${why}`);

/** Returns the logo in a file's bytes. @throws Fault permanent `logo_invalid`, with what is wrong with it */
export function readLogo(bytes: Uint8Array): Logo {
  if (bytes.byteLength > LOGO_BYTES_MAX) {
    throw refused(
      `has ${bytes.byteLength} bytes, more than the ${LOGO_BYTES_MAX} allowed; make it smaller or use a PNG`,
    );
  }
  const buffer = Buffer.from(bytes);
  const hash = createHash('sha256').update(buffer).digest('hex');
  if (buffer.subarray(0, PNG_START.length).equals(PNG_START)) {
    checkPng(buffer);
    return { type: 'png', hash, bytes };
  }
  checkSvg(buffer);
  return { type: 'svg', hash, bytes };
}

function checkPng(buffer: Buffer): void {
  if (buffer.length < PNG_BYTES_MIN) throw refused('is a truncated PNG; export it again');
  const [width, height] = [buffer.readUInt32BE(PNG_SIZE_AT), buffer.readUInt32BE(PNG_SIZE_AT + 4)];
  if (width < 1 || height < 1 || width > PIXELS_MAX || height > PIXELS_MAX) {
    throw refused(`is ${width} × ${height} pixels; make it at most ${PIXELS_MAX} × ${PIXELS_MAX}`);
  }
}

function checkSvg(buffer: Buffer): void {
  const text = buffer.toString('utf8');
  if (!Buffer.from(text).equals(buffer) || !SVG_START.test(text))
    throw refused('is neither a PNG nor an SVG; export it as one of them');
  const found = notDrawing.find(({ pattern }) => pattern.test(text));
  if (found) throw refused(`contains ${found.what}; export it as a plain SVG or as a PNG`);
}
