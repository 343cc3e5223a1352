/**
 * A store's accent colour made fit to read. Whatever a store chooses, text in that colour and on it keeps the contrast of WCAG 2.2 AA, in
 * light and in dark: the colour is moved towards black or white only as far as that takes.
 *
 * Contrast and luminance: https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio.
 * @module
 */
import { invariant } from '../core/fault.ts';

type Colour = readonly [red: number, green: number, blue: number];

/** What the accent is read on (`browser/page.css`), and what is written on the accent. */
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

/** AA asks for 4.5; the rest is for rounding to whole hexadecimal digits. */
const CONTRAST_MIN = 4.6;
const STEPS = 100;
/** How much of the accent is in the background of something that is pointed at, and of the parts of an address that are to be compared. */
const SOFT_SHARE = 0.1;
const MARK_SHARE = 0.2;

const HEX = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})$/i;

/** `#rrggbb` in lower case, or null. */
export const readAccent = (text: string): string | null => (HEX.test(text) ? text.toLowerCase() : null);

function parse(hex: string): Colour {
  const [, red, green, blue] = HEX.exec(hex) ?? [];
  invariant(red && green && blue, `${hex} is a colour`);
  return [Number.parseInt(red, 16), Number.parseInt(green, 16), Number.parseInt(blue, 16)];
}

const format = (colour: Colour): string =>
  `#${colour.map((part) => Math.round(part).toString(16).padStart(2, '0')).join('')}`;

/** `share` of the second colour in the first. */
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

/** 1 to 21, of two `#rrggbb`. */
export function contrast(first: string, second: string): number {
  const [low = 0, high = 0] = [luminance(parse(first)), luminance(parse(second))].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}

export type AccentColours = Readonly<{ accent: string; text: string; soft: string; mark: string }>;

/** The colours of one scheme for an accent: the accent itself, text on it, and backgrounds with something of it. */
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
  invariant(false, `black or white can be read on the page, so ${hex} can be moved far enough`);
}

/** The style sheet of an accent: the page's own variables with other values. */
export function accentStyle(hex: string): string {
  const rules = (scheme: Scheme): string => {
    const { accent, text, soft, mark } = accentColours(hex, scheme);
    return `:root{--accent:${accent};--accent-text:${text};--accent-soft:${soft};--mark:${mark}}`;
  };
  return `${rules('light')}\n@media (prefers-color-scheme: dark){${rules('dark')}}\n`;
}
