/**
 * The icons of the page as inline SVG. They only repeat the text beside them.
 * @module
 */
import { type Html, html } from '../lib/html.ts';

const paths = {
  done: 'M5 12.5l4.5 4.5L19 7.5',
  wait: 'M12 3.5a8.5 8.5 0 1 1 0 17 8.5 8.5 0 0 1 0-17M12 7.5V12l3 2',
  alert: 'M12 6.5v7M12 17v.5',
  stop: 'M8 8l8 8M16 8l-8 8',
  next: 'M9.5 6.5L15 12l-5.5 5.5',
} as const;

export type IconName = keyof typeof paths;

export const icon = (name: IconName): Html =>
  html`<svg class="icon ${name}" viewBox="0 0 24 24" aria-hidden="true"><path d="${paths[name]}" fill="none" stroke="currentColor" stroke-width="2.2" stroke-linecap="round" stroke-linejoin="round"/></svg>`;
