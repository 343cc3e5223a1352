/**
 * Passwords, stored as scrypt (RFC 7914) in PHC strings: `$scrypt$ln=15,r=8,p=3$salt$hash`, base64 without padding.
 */
import { createHash, randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { type Sentence, say } from '../acts/act.ts';

/** OWASP's Password Storage Cheat Sheet: 32 MiB and three passes are as strong as its first choice for scrypt. */
const usualCost: Cost = { ln: 15, r: 8, p: 3 };
const HASH_BYTES = 32;
const SALT_BYTES = 16;
/** Each takes about half a second of a core and 32 MiB, beside what payers are waiting for. */
const AT_ONCE_MAX = 2;
/** How many wait for that: the last of them for about eight seconds. */
const WAITING_MAX = 32;

const CHARS_MIN = 12;
const CHARS_MAX = 256;
const DISTINCT_MIN = 6;

/** Of a SHA-256 in the file of passwords that many people have, which says where they come from. */
const LISTED_BYTES = 4;
/** Text around a common password adds little if it is shorter and has no letters. */
const ADDED_CHARS_MAX = 8;

type Cost = Readonly<{ ln: number; r: number; p: number }>;

export type Passwords = ReturnType<typeof createPasswords>;

/** @param cost of new passwords; a stored one has its own */
export function createPasswords(cost: Cost = usualCost) {
  const nobody = encode(cost, randomBytes(SALT_BYTES), randomBytes(HASH_BYTES));
  const waiting: (() => void)[] = [];
  let running = 0;
  /** @returns null while too many others wait to be computed */
  async function limited<T>(work: () => Promise<T>): Promise<T | null> {
    if (running < AT_ONCE_MAX) running++;
    else if (waiting.length >= WAITING_MAX) return null;
    else await new Promise<void>((go) => waiting.push(go));
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else running--;
    }
  }
  return {
    hash: (password: string) =>
      limited(async () => {
        const salt = randomBytes(SALT_BYTES);
        return encode(cost, salt, await derive(password, salt, cost));
      }),
    /** Takes as long for no account (null) as for one, so that the time tells nothing. */
    isRight: (password: string, stored: string | null) =>
      limited(async () => {
        const { cost: own, salt, hash } = decode(stored ?? nobody);
        return timingSafeEqual(await derive(password, salt, own), hash) && stored !== null;
      }),
  };
}

/** Returns why a password is refused; null for a good one. Length counts, not a mix of characters. */
export function whyWeak(password: string, name: string): Sentence | null {
  const text = password.normalize('NFKC').toLowerCase();
  if ([...text].length < CHARS_MIN)
    return say('Use at least {count} characters. Four words that nobody would guess are good.', { count: CHARS_MIN });
  if ([...text].length > CHARS_MAX) return say('Use at most {count} characters.', { count: CHARS_MAX });
  if (isCommon(text)) return say('Too many people have this password, or one that is nearly the same. Take another.');
  const known = [name.toLowerCase(), 'quayside'].filter((one) => one.length > 2);
  const rest = known.reduce((left, one) => left.replaceAll(one, ''), text);
  return new Set(withoutRuns(rest)).size < DISTINCT_MIN
    ? say('This password is easy to guess. Four words that nobody would guess are good.')
    : null;
}

const rows = ['abcdefghijklmnopqrstuvwxyz', '01234567890', 'qwertyuiopasdfghjklzxcvbnm'];

/** Returns a text without each character that follows the one before it in the alphabet or on a keyboard. */
const withoutRuns = (text: string): string =>
  [...text].filter((one, at, all) => at === 0 || !rows.some((row) => row.includes(`${all[at - 1]}${one}`))).join('');

const derive = (password: string, salt: Buffer, { ln, r, p }: Cost): Promise<Buffer> => {
  const options: ScryptOptions = { N: 2 ** ln, r, p, maxmem: 256 * 2 ** ln * r };
  return new Promise((resolve, reject) => {
    scrypt(password.normalize('NFKC'), salt, HASH_BYTES, options, (error, hash) =>
      error ? reject(error) : resolve(hash),
    );
  });
};

const base64 = (bytes: Buffer): string => bytes.toString('base64').replace(/=+$/, '');

const encode = ({ ln, r, p }: Cost, salt: Buffer, hash: Buffer): string =>
  `$scrypt$ln=${ln},r=${r},p=${p}$${base64(salt)}$${base64(hash)}`;

function decode(text: string): Readonly<{ cost: Cost; salt: Buffer; hash: Buffer }> {
  const [, ln, r, p, salt = '', hash = ''] = /^\$scrypt\$ln=(\d+),r=(\d+),p=(\d+)\$([^$]+)\$([^$]+)$/.exec(text) ?? [];
  return {
    cost: { ln: Number(ln), r: Number(r), p: Number(p) },
    salt: Buffer.from(salt, 'base64'),
    hash: Buffer.from(hash, 'base64'),
  };
}

let hashes: ReadonlySet<number> | null = null;

/** Read at the first use: passwords are set seldom. */
function readHashes(): ReadonlySet<number> {
  const text = readFileSync(new URL('./frequent-passwords.txt', import.meta.url), 'utf8');
  const bytes = Buffer.from(text.replace(/^#.*$/gm, ''), 'base64');
  return new Set(Array.from({ length: bytes.length / LISTED_BYTES }, (_, at) => bytes.readUInt32BE(at * LISTED_BYTES)));
}

function isListed(text: string): boolean {
  hashes ??= readHashes();
  return hashes.has(createHash('sha256').update(text).digest().readUInt32BE(0));
}

/** Returns whether a password, in lower case, is a common one, also with a few digits or signs around it. */
function isCommon(password: string): boolean {
  const core = password.replace(/^[^\p{L}]+|[^\p{L}]+$/gu, '');
  return isListed(password) || (password.length - core.length <= ADDED_CHARS_MAX && isListed(core));
}
