/**
 * Makes a store's accent colour readable. Text in that colour and on it always has the contrast of WCAG 2.2 AA, in
 * light and dark mode: the colour is shifted towards black or white only as far as needed.
 *
 * Contrast and luminance: https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio.
 */
import { invariant } from '../core/fault.ts';

type Colour = readonly [red: number, green: number, blue: number];

/** The backgrounds behind the accent (`browser/page.css`), and the colour of text on it. */
const schemes = {
  light: {
    card: '#ffffff',
    surfaces: ['#ffffff', '#f6f8fa', '#f3f5f8', '#e9edf2'],
    towards: '#000000',
    text: '#ffffff',
  },
  dark: {
    card: '#171e27',
    surfaces: ['#171e27', '#10161e', '#0e131a', '#232d39'],
    towards: '#ffffff',
    text: '#0e131a',
  },
} as const;
export type Scheme = keyof typeof schemes;

/** AA requires 4.5; the rest allows for rounding to 8 bits. */
const CONTRAST_MIN = 4.6;
const STEPS = 100;
/** The share of the accent in the background of hovered elements, and of the parts of an address to compare. */
const SOFT_SHARE = 0.1;
const MARK_SHARE = 0.2;

const HEX = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})$/i;

/** Returns `#rrggbb` in lower case, or null. */
export const readAccent = (text: string): string | null => (HEX.test(text) ? text.toLowerCase() : null);

function parse(hex: string): Colour {
  const [, red, green, blue] = HEX.exec(hex) ?? [];
  invariant(red && green && blue, `${hex} is a colour`);
  return [Number.parseInt(red, 16), Number.parseInt(green, 16), Number.parseInt(blue, 16)];
}

const format = (colour: Colour): string =>
  `#${colour.map((part) => Math.round(part).toString(16).padStart(2, '0')).join('')}`;

/** Mixes two colours; `share` is that of the second. */
function mix(first: Colour, second: Colour, share: number): Colour {
  const [red, green, blue] = first.map((part, at) => part + ((second[at] ?? 0) - part) * share);
  return [red ?? 0, green ?? 0, blue ?? 0];
}

function luminance(colour: Colour): number {
  const [red = 0, green = 0, blue = 0] = colour.map((part) => {
    const share = part / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** Returns the contrast ratio of two `#rrggbb`, 1 to 21. */
export function contrast(first: string, second: string): number {
  const [low = 0, high = 0] = [luminance(parse(first)), luminance(parse(second))].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}

type AccentColours = Readonly<{ accent: string; text: string; soft: string; mark: string }>;

/** Returns the colours of one scheme for an accent: the accent, text on it, and tinted backgrounds. */
export function accentColours(hex: string, scheme: Scheme): AccentColours {
  const { card, surfaces, towards, text } = schemes[scheme];
  const wanted = parse(hex);
  for (let step = 0; step <= STEPS; step++) {
    const accent = format(mix(wanted, parse(towards), step / STEPS));
    const soft = format(mix(parse(card), parse(accent), SOFT_SHARE));
    const isReadable = [...surfaces, soft].every((surface) => contrast(accent, surface) >= CONTRAST_MIN);
    if (!isReadable || contrast(text, accent) < CONTRAST_MIN) continue;
    return { accent, text, soft, mark: format(mix(parse(card), parse(accent), MARK_SHARE)) };
  }
  invariant(false, `black or white is readable on the page, so ${hex} can be shifted far enough`);
}

/** Returns the style sheet of an accent, which overrides variables of the page. */
export function accentStyle(hex: string): string {
  const rules = (scheme: Scheme): string => {
    const { accent, text, soft, mark } = accentColours(hex, scheme);
    return `:root{--accent:${accent};--accent-text:${text};--accent-soft:${soft};--mark:${mark}}`;
  };
  return `${rules('light')}\n@media screen and (prefers-color-scheme: dark){${rules('dark')}}\n`;
}
