/**
 * The forms in which a signer's secrets could leak, and the search for them.
 */
import { closeSync, openSync, readFileSync, readSync } from 'node:fs';
import { evmSpending } from '../../src/chains/evm/spend.ts';
import type { Wallet } from '../../src/core/intent.ts';
import { mnemonic, passphrase, seed } from '../support/temp-signer.ts';

/** A secret's bytes under a name that may be shown. */
type Needle = Readonly<{ name: string; bytes: Buffer }>;

/** Half a key proves that the whole was there, and is found even where a copy was cut. */
const KEY_BYTES_SOUGHT = 16;
const CHUNK_BYTES = 16 * 1024 * 1024;

const wallets: readonly Wallet[] = [{ role: 'refund' }, { role: 'gas' }, { role: 'collection', index: 0 }];

/**
 * Seed, words, passphrase and private keys in the forms in which a program would hold them: bytes, hex, text. Few,
 * because memory is large.
 */
export const heldNeedles = (): Needle[] =>
  needles().filter(({ name }) => /(, raw|, hex|^mnemonic|^passphrase)$/.test(name));

/** Those, and the forms in which a log or an answer might show them. */
export function needles(): Needle[] {
  const keys = wallets.map(
    (wallet) => [JSON.stringify(wallet), Buffer.from(evmSpending.derive(seed, wallet).secret)] as const,
  );
  const binary = [['seed', Buffer.from(seed)] as const, ...keys];
  const texts = [['mnemonic', mnemonic.slice(-60)] as const, ['passphrase', passphrase] as const];
  return [
    ...binary.flatMap(([name, bytes]) => {
      const start = bytes.subarray(0, KEY_BYTES_SOUGHT);
      const base64 = start.toString('base64').slice(0, 20);
      return [
        { name: `${name}, raw`, bytes: start },
        { name: `${name}, hex`, bytes: Buffer.from(start.toString('hex')) },
        { name: `${name}, HEX`, bytes: Buffer.from(start.toString('hex').toUpperCase()) },
        { name: `${name}, decimal`, bytes: Buffer.from([...start].join(',')) },
        { name: `${name}, base64`, bytes: Buffer.from(base64) },
        { name: `${name}, hex in UTF-16`, bytes: Buffer.from(start.toString('hex'), 'utf16le') },
      ];
    }),
    ...texts.flatMap(([name, text]) => [
      { name, bytes: Buffer.from(text) },
      { name: `${name} in UTF-16`, bytes: Buffer.from(text, 'utf16le') },
    ]),
  ];
}

/** Returns the names of the secrets found in some bytes. */
export const secretsIn = (haystack: Buffer, sought: readonly Needle[]): string[] =>
  sought.filter(({ bytes }) => haystack.includes(bytes)).map(({ name }) => name);

/** Returns the names of the secrets found anywhere in the writable memory of a process. Needs the right to trace it. */
export function secretsInMemory(pid: number, sought: readonly Needle[]): string[] {
  const found = new Set<string>();
  const overlap = Math.max(...sought.map(({ bytes }) => bytes.length));
  const memory = openSync(`/proc/${pid}/mem`, 'r');
  try {
    for (const { from, to } of regionsOf(pid)) {
      const buffer = Buffer.alloc(Math.min(CHUNK_BYTES, to - from) + overlap);
      for (let at = from; at < to; at += CHUNK_BYTES) {
        const length = Math.min(CHUNK_BYTES + overlap, to - at);
        const read = readSome(memory, buffer, length, at);
        for (const name of secretsIn(buffer.subarray(0, read), sought)) found.add(name);
      }
    }
  } finally {
    closeSync(memory);
  }
  return [...found];
}

function regionsOf(pid: number): { from: number; to: number }[] {
  return readFileSync(`/proc/${pid}/maps`, 'utf8')
    .split('\n')
    .filter((line) => /^\S+ rw/.test(line) && !/\[(vvar|vsyscall)/.test(line))
    .map((line) => {
      const [from = '', to = ''] = (line.split(' ')[0] ?? '').split('-');
      return { from: Number.parseInt(from, 16), to: Number.parseInt(to, 16) };
    });
}

/** Reserved pages cannot be read and hold nothing. */
function readSome(memory: number, buffer: Buffer, length: number, at: number): number {
  try {
    return readSync(memory, buffer, 0, length, at);
  } catch {
    return 0;
  }
}
