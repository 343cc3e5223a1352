/**
 * An authenticator in software, as a browser answers for it: one passkey (ES256), whose answers tests may bend.
 */
import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto';

type Asked = Readonly<{ challenge: string; rp?: { id: string }; user?: { id: string }; rpId?: string }>;

/** What a test may bend. */
export type Bent = Readonly<{
  origin?: string;
  rpId?: string;
  challenge?: string;
  userHandle?: string;
  isVerified?: boolean;
}>;

export type Authenticator = Readonly<{
  id: string;
  create(asked: Asked, bent?: Bent): string;
  use(asked: Asked, bent?: Bent): string;
  setCounter(counter: number): void;
}>;

const base64url = (bytes: Uint8Array | string): string => Buffer.from(bytes).toString('base64url');
const sha256 = (bytes: Uint8Array | string): Buffer => createHash('sha256').update(bytes).digest();

/** CBOR (RFC 8949) of what attestations are made of: short maps, texts, bytes and small numbers. */
function cbor(value: Map<unknown, unknown> | string | Buffer | number): Buffer {
  const head = (major: number, length: number): Buffer => {
    if (length < 24) return Buffer.of((major << 5) | length);
    return length < 256
      ? Buffer.of((major << 5) | 24, length)
      : Buffer.of((major << 5) | 25, length >> 8, length & 255);
  };
  if (typeof value === 'number') return value < 0 ? head(1, -1 - value) : head(0, value);
  if (typeof value === 'string') return Buffer.concat([head(3, value.length), Buffer.from(value)]);
  if (Buffer.isBuffer(value)) return Buffer.concat([head(2, value.length), value]);
  const parts = [...value].flat().map((part) => cbor(part as string));
  return Buffer.concat([head(5, value.size), ...parts]);
}

/** @param counter of signatures so far; 0 never counts */
export function createAuthenticator(origin: string, counter = 1): Authenticator {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' });
  const id = randomBytes(32);
  let signed = counter;
  let handle = '';
  const data = (rpId: string, isVerified: boolean, flags: number): Buffer => {
    const count = Buffer.alloc(4);
    count.writeUInt32BE(signed);
    if (signed > 0) signed++;
    return Buffer.concat([sha256(rpId), Buffer.of(0x01 | (isVerified ? 0x04 : 0) | flags), count]);
  };
  const clientData = (type: string, challenge: string, from = origin): Buffer =>
    Buffer.from(JSON.stringify({ type, challenge, origin: from, crossOrigin: false }));
  const answer = (response: object): string =>
    JSON.stringify({
      id: base64url(id),
      rawId: base64url(id),
      type: 'public-key',
      response,
      clientExtensionResults: {},
    });
  return {
    id: base64url(id),
    setCounter(to) {
      signed = to;
    },
    create({ challenge, rp, user }, bent = {}) {
      handle = user?.id ?? '';
      const key = new Map<unknown, unknown>([
        [1, 2],
        [3, -7],
        [-1, 1],
        [-2, Buffer.from(x, 'base64url')],
        [-3, Buffer.from(y, 'base64url')],
      ]);
      const length = Buffer.of(0, id.length);
      const start = data(bent.rpId ?? rp?.id ?? '', bent.isVerified ?? true, 0x40);
      const authData = Buffer.concat([start, Buffer.alloc(16), length, id, cbor(key)]);
      const attestation = new Map<unknown, unknown>([
        ['fmt', 'none'],
        ['attStmt', new Map()],
        ['authData', authData],
      ]);
      const clientDataJSON = base64url(clientData('webauthn.create', bent.challenge ?? challenge, bent.origin));
      return answer({ clientDataJSON, attestationObject: base64url(cbor(attestation)) });
    },
    use({ challenge, rpId }, bent = {}) {
      const authenticatorData = data(bent.rpId ?? rpId ?? '', bent.isVerified ?? true, 0);
      const client = clientData('webauthn.get', bent.challenge ?? challenge, bent.origin);
      const signature = sign('sha256', Buffer.concat([authenticatorData, sha256(client)]), privateKey);
      return answer({
        clientDataJSON: base64url(client),
        authenticatorData: base64url(authenticatorData),
        signature: base64url(signature),
        userHandle: bent.userHandle ?? handle,
      });
    },
  };
}
