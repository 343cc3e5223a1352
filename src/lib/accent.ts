/**
 * A store's accent colour. The browser keeps its hue and limits its lightness, so that text in that colour and on it
 * has the contrast of WCAG 2.2 AA (4.5) on every surface of the page, in light and dark mode.
 */

const HEX = /^#[0-9a-f]{6}$/i;

/** Limits of the OKLCH lightness at which the least legible colours, pure green and red, still reach AA. */
const LIGHTNESS = { light: 'min(l,.47)', dark: 'max(l,.79)' } as const;

/** Returns `#rrggbb` in lower case, or null. */
export const readAccent = (text: string): string | null => (HEX.test(text) ? text.toLowerCase() : null);

/**
 * Returns the style sheet of an accent, which overrides variables of the page. A browser without relative colours
 * (before 2024) shows the page's own accent.
 */
export function accentStyle(hex: string): string {
  const rules = (scheme: keyof typeof LIGHTNESS, text: string): string =>
    `:root{--accent:oklch(from ${hex} ${LIGHTNESS[scheme]} c h);--accent-text:${text};` +
    '--accent-soft:color-mix(in srgb,var(--accent) 10%,var(--card));' +
    '--mark:color-mix(in srgb,var(--accent) 20%,var(--card))}';
  const dark = `@media screen and (prefers-color-scheme:dark){${rules('dark', '#0e131a')}}`;
  return `@supports (color:oklch(from red l c h)){${rules('light', '#ffffff')}${dark}}\n`;
}
