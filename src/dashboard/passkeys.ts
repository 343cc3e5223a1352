/**
 * Passkeys (WebAuthn, https://www.w3.org/TR/webauthn-3/): what the browser's script is asked for, and whether its
 * answer is right. The configured address decides which names and origins are ours, never a request. The authenticator
 * verifies its user (by a PIN or a finger) each time, so a passkey is two factors in one. It tells nothing about its
 * maker, and no certificate is asked for.
 */
import { randomBytes, timingSafeEqual } from 'node:crypto';
import { isIP } from 'node:net';
import type { Passkey } from '../database/column-values.ts';
import type { Database } from '../database/database.ts';
import type { Person, UsedFactor } from '../database/people.ts';
import type { Clock } from '../lib/clock.ts';
import { type Html, html } from '../lib/html.ts';
import type { Words } from './texts.ts';

/** COSE: EdDSA, ES256 and RS256, the newest first. */
const ALGORITHMS = [-8, -7, -257];
const TIMEOUT_MS = 5 * 60_000;
/** The specification allows 1023 bytes for a credential's id. */
const ID_CHARS_MAX = 1_364;
const CHALLENGE_MS = 10 * 60_000;
const RANDOM_BYTES = 16;
const TIME_BYTES = 8;
const PROOF_BYTES = 16;

/** A passkey whose signature was right. */
type UsedPasskey = Readonly<{ person: Person; factor: Extract<UsedFactor, { passkeyId: string }> }>;

type SignIns = Database['people'];
type Find = (id: string) => Promise<Readonly<{ passkey: Passkey; person: Person }> | null>;

export type Passkeys = ReturnType<typeof createPasskeys>;

/** @param url the dashboard's address in browsers */
export function createPasskeys(url: string, clock: Pick<Clock, 'nowMs'>, signIns: SignIns) {
  const { hostname, origin, protocol } = new URL(url);
  const challenges = createChallenges(clock, signIns);
  const expected = { expectedOrigin: origin, expectedRPID: hostname, requireUserVerification: true };

  /** Calls a check of the library, which throws for what it refuses, and uses up the challenge of what is right. */
  async function checkedBy<Options extends { response: object }, T extends { verified: boolean }>(
    check: (options: Options) => Promise<T>,
    text: string,
    purpose: string,
    more: Partial<Options>,
  ): Promise<T | null> {
    let challenge = '';
    const expectedChallenge = (one: string) => {
      challenge = one;
      return challenges.isGood(one, purpose);
    };
    let checked: T;
    try {
      const response = JSON.parse(text);
      checked = await check({ ...expected, expectedChallenge, ...more, response } as unknown as Options);
    } catch {
      return null;
    }
    return checked.verified && (await challenges.use(challenge)) ? checked : null;
  }

  return {
    /** Browsers know no passkeys at IP addresses, and none over plain HTTP but on this very machine. */
    isPossible: isIP(hostname.replace(/^\[|\]$/g, '')) === 0 && (protocol === 'https:' || hostname === 'localhost'),
    /** Returns what the script needs to make one, as JSON. @param purpose the same when the answer is checked */
    creation: (person: Person, own: readonly Passkey[], purpose: string) =>
      JSON.stringify({
        challenge: challenges.make(`create ${purpose}`),
        rp: { id: hostname, name: `Quayside ${hostname}` },
        user: { id: handleOf(person), name: person.name, displayName: person.name },
        pubKeyCredParams: ALGORITHMS.map((alg) => ({ type: 'public-key', alg })),
        excludeCredentials: own.map(({ id }) => ({ type: 'public-key', id })),
        authenticatorSelection: { residentKey: 'required', requireResidentKey: true, userVerification: 'required' },
        attestation: 'none',
        timeout: TIMEOUT_MS,
      }),
    /** Returns what the script needs to use one, as JSON. @param ids of whose use is asked; none for any */
    request: (ids: readonly string[], purpose: string) =>
      JSON.stringify({
        challenge: challenges.make(`use ${purpose}`),
        rpId: hostname,
        allowCredentials: ids.map((id) => ({ type: 'public-key', id })),
        userVerification: 'required',
        timeout: TIMEOUT_MS,
      }),
    /** Checks a new passkey, as the script sends it; null if it is refused. */
    async registered(text: string, purpose: string) {
      const { verifyRegistrationResponse } = await import('@simplewebauthn/server');
      const checked = await checkedBy(verifyRegistrationResponse, text, `create ${purpose}`, {
        supportedAlgorithmIDs: ALGORITHMS,
      });
      if (!checked?.verified) return null;
      const { id, publicKey, counter } = checked.registrationInfo.credential;
      if (id.length > ID_CHARS_MAX) return null;
      return { id, publicKey: Buffer.from(publicKey).toString('base64url'), counter };
    },
    /** Checks the use of a passkey, as the script sends it; null if it is refused. Each answer is taken once. */
    async used(text: string, purpose: string, find: Find): Promise<UsedPasskey | null> {
      const sent = readAnswer(text);
      const found = sent && sent.id.length <= ID_CHARS_MAX ? await find(sent.id) : null;
      if (!sent || !found) return null;
      const { passkey, person } = found;
      if (sent.userHandle !== null && sent.userHandle !== handleOf(person)) return null;
      const { verifyAuthenticationResponse } = await import('@simplewebauthn/server');
      // How far it has counted is compared in the database's transaction.
      const publicKey = new Uint8Array(Buffer.from(passkey.publicKey, 'base64url'));
      const checked = await checkedBy(verifyAuthenticationResponse, text, `use ${purpose}`, {
        credential: { id: passkey.id, publicKey, counter: 0 },
      });
      if (!checked) return null;
      return { person, factor: { passkeyId: passkey.id, counter: checked.authenticationInfo.newCounter } };
    },
  };
}

/** Names a person to authenticators, without their name. */
const handleOf = ({ id }: Pick<Person, 'id'>): string => Buffer.from(id).toString('base64url');

function readAnswer(text: string): Readonly<{ id: string; userHandle: string | null }> | null {
  try {
    const { id, response } = JSON.parse(text);
    const handle: unknown = response?.userHandle || null;
    return typeof id === 'string' && (handle === null || typeof handle === 'string')
      ? { id, userHandle: handle }
      : null;
  } catch {
    return null;
  }
}

/**
 * Challenges that a passkey signs. None is stored: each carries its end and a proof of what it was made for, by the
 * installation's secret key, so that every server knows it. The database remembers used ones until they end.
 */
function createChallenges(clock: Pick<Clock, 'nowMs'>, signIns: SignIns) {
  const proofOf = (start: Buffer, purpose: string): Buffer =>
    Buffer.from(signIns.challengeProof(`${start.toString('hex')} ${purpose}`), 'hex');
  return {
    /** Returns a challenge (base64url) for one purpose, such as signing in. */
    make(purpose: string): string {
      const start = Buffer.alloc(TIME_BYTES + RANDOM_BYTES);
      start.writeBigUInt64BE(BigInt(clock.nowMs() + CHALLENGE_MS));
      randomBytes(RANDOM_BYTES).copy(start, TIME_BYTES);
      return Buffer.concat([start, proofOf(start, purpose)]).toString('base64url');
    },
    isGood(challenge: string, purpose: string): boolean {
      const bytes = Buffer.from(challenge, 'base64url');
      if (bytes.length !== TIME_BYTES + RANDOM_BYTES + PROOF_BYTES) return false;
      const start = bytes.subarray(0, TIME_BYTES + RANDOM_BYTES);
      const isOurs = timingSafeEqual(bytes.subarray(start.length), proofOf(start, purpose));
      // Spelled as we spelled it, so that it cannot be used again in another spelling.
      const isSpelled = bytes.toString('base64url') === challenge;
      return isOurs && isSpelled && Number(start.readBigUInt64BE()) > clock.nowMs();
    },
    /** Uses up a good challenge, whose signature was found right. @returns false when it was used before */
    use(challenge: string): Promise<boolean> {
      const nowMs = clock.nowMs();
      return signIns.useChallenge(challenge, { nowMs, keepUntilMs: nowMs + CHALLENGE_MS });
    },
  };
}

/** `field`: of the form, which gets the answer. `asked`: what the browser is asked for, in JSON. */
type Button = Readonly<{ field: string; text: string; asked: string }>;

/**
 * The button that asks the browser for a passkey, and sends its form with the answer. It is hidden until the script
 * finds that the browser can.
 */
export const passkeyButton = (words: Words, { field, text, asked }: Button): Html =>
  html`<div data-passkey="${asked}" data-failed="${words.say('No passkey was used. Try again, or go on without one.')}" hidden><input type="hidden" name="${field}" value="">
<button type="button" class="plain">${text}</button><p class="hint" role="status"></p></div>`;
