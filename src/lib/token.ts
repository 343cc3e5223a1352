/** Tokens that whoever has them may use: of sign-ins and one-time links. What is stored is their hash. */
import { createHash, randomBytes } from 'node:crypto';

const TOKEN_BYTES = 32;

export const newToken = (): string => randomBytes(TOKEN_BYTES).toString('base64url');

/** Returns the SHA-256 of a token, in hex. */
export const hashOf = (token: string): string => createHash('sha256').update(token).digest('hex');
