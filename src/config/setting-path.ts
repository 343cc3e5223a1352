/**
 * Where a setting is: `networks.ethereum.tokens[0].decimals`.
 */

/** A plain JSON object whose shape is not known yet. */
export type Tree = { [key: string]: unknown };

/** Formats a path: `networks.ethereum.tokens[0].decimals`. */
export function pathText(path: readonly PropertyKey[]): string {
  return path
    .map((key, at) => (/^\d+$/.test(String(key)) ? `[${String(key)}]` : `${at ? '.' : ''}${String(key)}`))
    .join('');
}
