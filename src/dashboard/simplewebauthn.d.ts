/** What is used of the library: its own declarations bring in every package that it has for certificates. */
declare module '@simplewebauthn/server' {
  type Expected = Readonly<{
    response: object;
    expectedChallenge: (challenge: string) => boolean;
    expectedOrigin: string;
    expectedRPID: string;
    requireUserVerification: boolean;
  }>;
  type Key = Readonly<{ id: string; publicKey: Uint8Array; counter: number }>;

  /** @throws Error for what it refuses */
  export function verifyRegistrationResponse(
    options: Expected & Readonly<{ supportedAlgorithmIDs: readonly number[] }>,
  ): Promise<Readonly<{ verified: false }> | Readonly<{ verified: true; registrationInfo: { credential: Key } }>>;

  /** @throws Error for what it refuses */
  export function verifyAuthenticationResponse(
    options: Expected & Readonly<{ credential: Key }>,
  ): Promise<Readonly<{ verified: boolean; authenticationInfo: { newCounter: number } }>>;
}
