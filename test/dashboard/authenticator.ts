/**
 * An authenticator in software, as a browser answers for it: one passkey (ES256), whose answers tests may bend.
 */
import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { isoCBOR } from '@simplewebauthn/server/helpers';

type Asked = Readonly<{ challenge: string; rp?: { id: string }; user?: { id: string }; rpId?: string }>;

/** Parts that a test may bend. */
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
      const key = new Map<number, number | Uint8Array>([
        [1, 2],
        [3, -7],
        [-1, 1],
        [-2, Buffer.from(x, 'base64url')],
        [-3, Buffer.from(y, 'base64url')],
      ]);
      const length = Buffer.of(0, id.length);
      const start = data(bent.rpId ?? rp?.id ?? '', bent.isVerified ?? true, 0x40);
      const authData = Buffer.concat([start, Buffer.alloc(16), length, id, isoCBOR.encode(key)]);
      const attestation = new Map<string, string | Uint8Array | Map<string, string>>([
        ['fmt', 'none'],
        ['attStmt', new Map<string, string>()],
        ['authData', authData],
      ]);
      const clientDataJSON = base64url(clientData('webauthn.create', bent.challenge ?? challenge, bent.origin));
      return answer({ clientDataJSON, attestationObject: base64url(isoCBOR.encode(attestation)) });
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
