/**
 * Removes secrets from what is given to others: by the form that each kind has, by the names of fields, and by value.
 */

const REMOVED = '[removed]';

/** Forms of secrets: API keys and secrets, webhook secrets, extended keys, tokens, seed phrases, `key=`. */
const forms: readonly RegExp[] = [
  /\bsk_(?:live|test)_[A-Za-z0-9]+/g,
  /\b(?:ss|whsec|rt_claim)_[A-Za-z0-9+/=_-]{8,}/g,
  /\b[a-z]p(?:ub|rv)[1-9A-HJ-NP-Za-km-z]{20,}/g,
  /\bBearer\s+\S+/gi,
  /\beyJ[A-Za-z0-9_-]{10,}(?:\.[A-Za-z0-9_-]+)*/g,
  // Twelve and more short words in lower case: a seed phrase.
  /\b(?:[a-z]{3,8}\s+){11,23}[a-z]{3,8}\b/g,
  /((?:secret|key|token|password|passphrase|authorization|apikey)["']?\s*[=:]\s*["']?)[^\s"',;&]{6,}/gi,
];

/** A URL: its user part, path, query and fragment often hold an access key. */
const URLS = /\b([a-z][a-z0-9+.-]{1,12}:\/\/)(?:[^\s"'<>/@?#]*@)?([^\s"'<>/?#]*)([/?#][^\s"'<>]*)?/gi;

const SECRET_FIELDS = /secret|passphrase|password|authorization|private|mnemonic|^mac$|^token$|^seed$|^xpub$/i;

/** Returns a copy without secrets. @param known values to remove wherever they are */
export function withoutSecrets(value: unknown, known: readonly string[]): unknown {
  const values = known.filter((one) => one.length >= 6).sort((a, b) => b.length - a.length);
  return clean(value, values);
}

function clean(value: unknown, known: readonly string[]): unknown {
  if (typeof value === 'bigint') return value.toString();
  if (typeof value === 'string') return cleanText(value, known);
  if (Array.isArray(value)) return value.map((one) => clean(one, known));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [
      cleanText(name, known),
      SECRET_FIELDS.test(name) && typeof one === 'string' ? REMOVED : clean(one, known),
    ]),
  );
}

function cleanText(text: string, known: readonly string[]): string {
  let rest = text;
  for (const one of known) rest = rest.replaceAll(one, REMOVED);
  rest = rest.replaceAll(
    URLS,
    (_all, scheme: string, host: string, path?: string) => `${scheme}${host}${path && path !== '/' ? '/…' : ''}`,
  );
  for (const form of forms)
    rest = rest.replaceAll(form, (_all, before: unknown) => `${typeof before === 'string' ? before : ''}${REMOVED}`);
  return rest;
}
