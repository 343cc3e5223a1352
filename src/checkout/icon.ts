/**
 * The icons of the page, and the marks of tokens and networks, as inline SVG. They only repeat the text beside them.
 */
import type { Mark } from '../config/schema.ts';
import { type Html, html } from '../lib/html.ts';

const paths = {
  done: 'M5 12.5l4.5 4.5L19 7.5',
  wait: 'M12 3.5a8.5 8.5 0 1 1 0 17 8.5 8.5 0 0 1 0-17M12 7.5V12l3 2',
  alert: 'M12 6.5v7M12 17v.5',
  stop: 'M8 8l8 8M16 8l-8 8',
  next: 'M9.5 6.5L15 12l-5.5 5.5',
  help: 'M12 3.5a8.5 8.5 0 1 1 0 17 8.5 8.5 0 0 1 0-17M9.5 9.6a2.5 2.5 0 1 1 3.7 2.2c-.8.4-1.2.9-1.2 1.7M12 16.6v.1',
} as const;

export type IconName = keyof typeof paths;

export const icon = (name: IconName): Html =>
  html`<svg class="icon ${name}" viewBox="0 0 24 24" aria-hidden="true"><path d="${paths[name]}" fill="none" stroke="currentColor" stroke-width="2.2" stroke-linecap="round" stroke-linejoin="round"/></svg>`;

const shapes: Readonly<Record<Mark['shape'], string>> = {
  circle: 'M12 1a11 11 0 1 1 0 22 11 11 0 0 1 0-22',
  square: 'M6 1.5h12a4.5 4.5 0 0 1 4.5 4.5v12a4.5 4.5 0 0 1-4.5 4.5H6A4.5 4.5 0 0 1 1.5 18V6A4.5 4.5 0 0 1 6 1.5',
  hexagon: 'M12 .5l10 5.75v11.5L12 23.5 2 17.75V6.25z',
  octagon: 'M7.5 1h9L23 7.5v9L16.5 23h-9L1 16.5v-9z',
  shield: 'M12 .5l10 3.5v8c0 5.5-4 9.5-10 11.5C6 21.5 2 17.5 2 12V4z',
};

/** Legible on every surface of the page, in light and dark mode. */
const PLAIN_COLOUR = '#6d7f92';

/** Draws a letter on a shape. A token or network without a mark gets the first letter of its name on a grey circle. */
export function markOf(mark: Mark | undefined, name: string): Html {
  const { shape, letter, colour } = mark ?? { shape: 'circle', letter: [...name][0] ?? '', colour: PLAIN_COLOUR };
  return html`<svg class="mark" viewBox="0 0 24 24" aria-hidden="true"><path d="${shapes[shape]}" fill="${colour}"/><text x="12" y="16.7" text-anchor="middle" font-size="13" font-weight="700" fill="#fff">${letter}</text></svg>`;
}
