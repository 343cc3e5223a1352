/**
 * The input of a new session, for tests that use the database without the API.
 */

import { optionOf } from '../../src/api/session-service.ts';
import { defaultStoreSettings, issueStore } from '../../src/app/new-credentials.ts';
import type { NetworkConfig } from '../../src/config/network.ts';
import { minorToPar } from '../../src/core/money.ts';
import type { Currency } from '../../src/core/transfer.ts';
import type { SessionRequest, StoreSettings } from '../../src/database/column-values.ts';
import type { NewSession } from '../../src/database/sessions.ts';
import type { NewStore } from '../../src/database/stores.ts';

/** A merchant's store that is approved. */
export const merchantStore = (settings: Partial<StoreSettings> = {}): NewStore =>
  issueStore('Test store', { ...defaultStoreSettings, ...settings }, 1_800_000_000_000);

export type SessionWish = Readonly<{
  storeId: string;
  /** Names the order and the session; unique within a test. */
  name: string;
  networks: readonly NetworkConfig[];
  /** Price in USD minor units. */
  amountMinor: number;
  accepts?: readonly Currency[];
  expiresInS?: number;
  nowMs: number;
}>;

/** A request in USD with only a price. */
export const plainRequest = (orderId: string, amountMinor: bigint): SessionRequest => ({
  orderId,
  amountMinor,
  currency: 'USD',
  description: null,
  lineItems: null,
  taxMinor: null,
  shippingMinor: null,
  successUrl: null,
  cancelUrl: null,
  metadata: null,
  webhookUrl: null,
});

/** A session at par that may be paid on each network in each accepted currency. */
export function newSession(wish: SessionWish): NewSession {
  const { storeId, name, networks, accepts = ['USDT', 'USDC'], expiresInS = 1800, nowMs } = wish;
  const duePar = minorToPar(BigInt(wish.amountMinor));
  const options = networks.flatMap((network) =>
    network.tokens
      .filter((token) => accepts.includes(token.symbol))
      .map((token) => optionOf(network, token, duePar, '')),
  );
  return {
    id: `cs_${name.padStart(26, '0')}`,
    storeId,
    mode: networks[0]?.mode ?? 'test',
    request: plainRequest(name, BigInt(wish.amountMinor)),
    conversion: null,
    duePar,
    accepts,
    expiresInS,
    inclusionGraceS: Object.fromEntries(networks.map((network) => [network.key, network.inclusionGraceS])),
    reorgDepthsMax: Object.fromEntries(networks.map((network) => [network.key, network.reorgDepthMax])),
    options,
    replay: { idempotencyKey: null, path: '/api/v1/checkout/sessions/create', bodyHash: name },
    nowMs,
  };
}
