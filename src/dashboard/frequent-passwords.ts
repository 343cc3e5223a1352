/**
 * Passwords that many people have, and what is little more than one of them. Their file says where they come from.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

const HASH_BYTES = 4;
/** What stands before or after a common password adds little if it is shorter, and no letters. */
const ADDED_CHARS_MAX = 8;

let hashes: ReadonlySet<number> | null = null;

/** Read at the first use: passwords are set seldom. */
function readHashes(): ReadonlySet<number> {
  const text = readFileSync(new URL('./frequent-passwords.txt', import.meta.url), 'utf8');
  const bytes = Buffer.from(text.replace(/^#.*$/gm, ''), 'base64');
  return new Set(Array.from({ length: bytes.length / HASH_BYTES }, (_, at) => bytes.readUInt32BE(at * HASH_BYTES)));
}

function isListed(text: string): boolean {
  hashes ??= readHashes();
  return hashes.has(createHash('sha256').update(text).digest().readUInt32BE(0));
}

/**
 * Returns whether a password, in lower case, is a common one, one with digits or signs around it, one several times, or
 * two of them.
 */
export function isCommon(password: string): boolean {
  const core = password.replace(/^[^\p{L}]+|[^\p{L}]+$/gu, '');
  const unit = /^(.+?)\1+$/u.exec(password)?.[1];
  if (isListed(password) || (unit !== undefined && isListed(unit))) return true;
  if (core !== password && password.length - core.length <= ADDED_CHARS_MAX && isCommonCore(core)) return true;
  return isPair(password);
}

const isCommonCore = (core: string): boolean => isListed(core) || isPair(core);

function isPair(text: string): boolean {
  for (let at = 1; at < text.length; at++) if (isListed(text.slice(0, at)) && isListed(text.slice(at))) return true;
  return false;
}
