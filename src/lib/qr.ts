/**
 * QR codes as inline SVG, one path of horizontal runs: small, sharp at any size, without scripts.
 */
import { encode } from 'uqr';
import { type Html, html } from './html.ts';

/** Width of the white margin in modules (ISO/IEC 18004). */
const QUIET_ZONE = 4;

/** @param label alternative text for screen readers */
export function qrSvg(text: string, label: string): Html {
  const { data, size } = encode(text, { ecc: 'M', border: QUIET_ZONE });
  const path = data.map(runs).join('');
  return html`<svg class="qr" viewBox="0 0 ${size} ${size}" role="img" aria-label="${label}" shape-rendering="crispEdges"><path fill="#fff" d="M0 0h${size}v${size}H0z"/><path fill="#000" d="${path}"/></svg>`;
}

function runs(row: readonly boolean[], y: number): string {
  let path = '';
  for (let x = 0; x < row.length; x++) {
    if (!row[x]) continue;
    let end = x;
    while (row[end]) end++;
    path += `M${x} ${y}h${end - x}v1H${x}z`;
    x = end;
  }
  return path;
}
