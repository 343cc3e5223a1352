/**
 * Shortens what another program sent, for use in a message.
 *
 * @module
 */

const EXCERPT_CHARS_MAX = 200;

/** Returns foreign text fit for a one-line message: no line breaks, nothing unprintable, not too long. */
export function excerpt(text: string): string {
  const line = text.replace(/\s+/g, ' ').replace(/[^\x20-\x7e]/g, '?');
  return line.length > EXCERPT_CHARS_MAX ? `${line.slice(0, EXCERPT_CHARS_MAX)}…` : line;
}
