/**
 * Charts that are made on the server: bars of SVG, and the same numbers in a table. They need no script, follow the
 * colours of the page, and print.
 */
import { type Html, html } from '../lib/html.ts';

type Bar = Readonly<{ label: string; size: bigint }>;

const WIDTH = 600;
const HEIGHT = 140;
const GAP = 4;
/** Sizes are drawn exactly to this part of the greatest one. */
const STEPS = 1000n;

const percent = (size: bigint, greatest: bigint): number => Number((size * STEPS) / greatest) / Number(STEPS);

type Chart = Readonly<{
  /** The chart in words, for people who cannot see it. */
  title: string;
  bars: readonly Bar[];
  /** Writes a size. */
  text(size: bigint): string;
  /** The table with the same numbers, and what it is called. */
  numbers: Html;
  numbersTitle: string;
}>;

/** Draws bars from zero. */
export function barChart({ title, bars, text, numbers, numbersTitle }: Chart): Html {
  let greatest = 0n;
  for (const { size } of bars) if (size > greatest) greatest = size;
  const step = WIDTH / Math.max(1, bars.length);
  const drawn = bars.map(({ label, size }, at) => {
    if (size === 0n) return null;
    const height = Math.max(1, percent(size, greatest) * HEIGHT);
    return html`<rect x="${at * step + GAP / 2}" y="${HEIGHT - height}" width="${step - GAP}" height="${height}" rx="2"><title>${label}: ${text(size)}</title></rect>`;
  });
  return html`<div class="chart"><p><bdi>${text(greatest)}</bdi></p>
<svg viewBox="0 0 ${WIDTH} ${HEIGHT + 1}" preserveAspectRatio="none" role="img" aria-label="${title}">${drawn}<line x1="0" x2="${WIDTH}" y1="${HEIGHT}" y2="${HEIGHT}"/></svg>
<p><span>${bars[0]?.label ?? ''}</span> <span>${bars.at(-1)?.label ?? ''}</span></p></div>
<details><summary>${numbersTitle}</summary>${numbers}</details>`;
}
