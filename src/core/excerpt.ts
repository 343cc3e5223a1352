/**
 * Makes text from other programs and people fit for a message or a terminal.
 */

const EXCERPT_CHARS_MAX = 200;

/** Returns foreign text fit for a one-line message: no line breaks, nothing unprintable, not too long. */
export function excerpt(text: string): string {
  const line = text.replace(/\s+/g, ' ').replace(/[^\x20-\x7e]/g, '?');
  return line.length > EXCERPT_CHARS_MAX ? `${line.slice(0, EXCERPT_CHARS_MAX)}…` : line;
}

// Control characters, and marks that turn the direction of the text after them.
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is removed.
const UNPRINTABLE = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]+/gu;

/** Returns a person's text on one line of at most `unitsMax` UTF-16 units, in its own script. */
export function plainLine(text: string, unitsMax: number): string {
  const flat = text.replace(UNPRINTABLE, ' ');
  return flat.length > unitsMax ? `${flat.slice(0, unitsMax - 1)}…` : flat;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it looks for
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/**
 * Returns a text with control characters and changes of writing direction as JSON escapes, because a terminal would
 * obey those in a foreign name or answer. JSON keeps its meaning.
 */
export const printable = (text: string): string =>
  text.replaceAll(CONTROL, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
