/**
 * The names of the networks and chain families, as `config/networks` has them.
 */
import { readdirSync, readFileSync } from 'node:fs';

const files = readdirSync('config/networks');
const presets = files.map(
  (file) => JSON.parse(readFileSync(`config/networks/${file}`, 'utf8')) as Readonly<{ name: string; family: string }>,
);

export const families: readonly string[] = [...new Set(presets.map(({ family }) => family))];
/** Those of the files too: `bsc-testnet` is a preset of the network `bsc`. */
export const networkNames: readonly string[] = [
  ...new Set([...presets.map(({ name }) => name), ...files.map((file) => file.replace(/\.json$/, ''))]),
];
