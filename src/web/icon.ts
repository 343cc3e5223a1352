/** Small pictures beside words, drawn in the colour of the text. Nothing is said by a picture alone. */
import { type Html, html } from '../lib/html.ts';

/** Paths in a square of 24. */
const paths = {
  home: 'M4 11l8-7 8 7v9h-5v-6H9v6H4z',
  coins: 'M4 7c0-4 16-4 16 0s-16 4-16 0v10c0 4 16 4 16 0V7M4 12c0 4 16 4 16 0',
  back: 'M9 5L4 10l5 5M4 10h10a6 6 0 010 10h-3',
  hook: 'M8 8a4 4 0 118 0c0 2-1 3-2 4l3 6M8 12l-3 6h9',
  key: 'M15 4a5 5 0 11-4 8l-7 7v2h4l1-2h2v-2l2-2M16 8h.01',
  gear: 'M4 6h10M18 6h2M4 12h2M10 12h10M4 18h10M18 18h2M14 4v4M6 10v4M14 16v4',
  alarm: 'M6 16V10a6 6 0 1112 0v6l2 2H4zM10 21h4',
  network: 'M12 4v5M12 9l-6 6M12 9l6 6M10 2h4v3h-4zM4 15h4v4H4zM16 15h4v4h-4z',
  wallet: 'M4 6h14v3M4 6v12h16V9H6a2 2 0 01-2-3M16 13h1',
  store: 'M4 10l1-6h14l1 6M4 10c0 3 5 3 5 0 0 3 6 3 6 0 0 3 5 3 5 0M5 12v8h14v-8',
  list: 'M8 6h12M8 12h12M8 18h12M4 6h.01M4 12h.01M4 18h.01',
  person: 'M12 12a4 4 0 100-8 4 4 0 000 8zM4 21c0-8 16-8 16 0',
  plus: 'M12 5v14M5 12h14',
  /** Our own mark: a mooring post over waves. */
  quay: 'M8 4h8M12 4v11M8 9h8M3 18c3-2 6 2 9 0s6 2 9 0',
} as const;

export type Icon = keyof typeof paths;

export const icon = (name: Icon): Html =>
  html`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true"><path d="${paths[name]}"/></svg>`;
