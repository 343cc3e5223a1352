/** The limits that the reference lists, from the constants and settings that enforce them. */
import type { Config } from '../config/config.ts';
import { STORE_ENDPOINTS_MAX } from '../core/endpoint.ts';
import { EVENT_AGE_S_MAX } from '../core/event.ts';
import { defaultRefundPolicy } from '../core/refund.ts';
import { TIMESTAMP_WINDOW_S } from './auth.ts';
import { METADATA_BYTES_MAX, METADATA_LEVELS_MAX, REFUND_ID_CHARACTERS_MAX } from './refund-input.ts';
import {
  LINE_ITEMS_MAX,
  METADATA_KEY_CHARACTERS_MAX,
  METADATA_KEYS_MAX,
  METADATA_VALUE_CHARACTERS_MAX,
  ORDER_ID_CHARACTERS_MAX,
} from './session-input.ts';

/** The largest body of a request; larger ones are answered with 413. */
export const BODY_BYTES_MAX = 262_144;

export type RateLimits = Pick<Config['limits'], 'requestsPerSecondPerKey' | 'requestsPerSecondPerAddress'>;

/** A limit of the API, as a sentence. */
export type ApiLimit = Readonly<{ what: string; limit: string }>;

const DAY_S = 86_400;

/** Returns the limits, in the order in which they are shown. */
export function apiLimits({ requestsPerSecondPerKey, requestsPerSecondPerAddress }: RateLimits): readonly ApiLimit[] {
  const { refundWindowS, refundDailyMinor, refundCancelWindowS, refundClaimS } = defaultRefundPolicy;
  const daily = (refundDailyMinor / 100).toLocaleString('en', { minimumFractionDigits: 2 });
  return [
    {
      what: 'Requests',
      limit: `${requestsPerSecondPerKey} a second for each API key, and ${requestsPerSecondPerAddress} for each IP address. Beyond that: \`rate_limited\`, with the seconds to wait in \`Retry-After\`. Each answer says in \`RateLimit\` what is left.`,
    },
    { what: 'Body of a request', limit: `${BODY_BYTES_MAX / 1024} KiB. The path and the headers together: 16 KiB.` },
    { what: 'Clock', limit: `${TIMESTAMP_WINDOW_S} seconds fast or slow, in requests and in webhooks.` },
    { what: 'Parameters of a list', limit: 'Those that are documented; another one is refused by name.' },
    { what: '`Idempotency-Key`', limit: 'At most 255 characters. It is kept for 24 hours, successes only.' },
    { what: 'Life of a session', limit: '60 to 3600 seconds (`expires_in`); 1800 unless asked otherwise.' },
    { what: '`order_id`', limit: `1 to ${ORDER_ID_CHARACTERS_MAX} characters, unique in a store and mode.` },
    { what: '`line_items`', limit: `At most ${LINE_ITEMS_MAX}.` },
    {
      what: 'Metadata of a session',
      limit: `At most ${METADATA_KEYS_MAX} keys of ${METADATA_KEY_CHARACTERS_MAX} characters, with texts of ${METADATA_VALUE_CHARACTERS_MAX} characters.`,
    },
    { what: '`refund_id`', limit: `1 to ${REFUND_ID_CHARACTERS_MAX} characters, unique in a store and mode.` },
    {
      what: 'Metadata of a refund',
      limit: `Any JSON of at most ${METADATA_BYTES_MAX / 1024} KiB and ${METADATA_LEVELS_MAX} levels.`,
    },
    { what: 'Refunds of a session', limit: 'Several. Together at most what was received; only a paid session.' },
    {
      what: 'Time for a refund',
      limit: `${refundWindowS / DAY_S} days after the payment, unless the store has another window.`,
    },
    {
      what: 'Refunds of a day',
      limit: `${daily} for a store and UTC day, unless the operator has set another limit. \`Retry-After\` is the rest of the day.`,
    },
    {
      what: 'Canceling a refund',
      limit: `${refundCancelWindowS} seconds from \`processing\` on, unless the store has another window. It ends when the payment is signed.`,
    },
    { what: 'Claim link', limit: `${refundClaimS / DAY_S} days, then the refund fails and its amount is free again.` },
    { what: 'Webhook endpoints', limit: `${STORE_ENDPOINTS_MAX} for a store, those of both modes together.` },
    { what: 'Events', limit: `Readable for ${EVENT_AGE_S_MAX / DAY_S} days.` },
    {
      what: 'Webhooks',
      limit:
        'Answered within 30 seconds. Sent again at most 10 times, after 2 minutes and then twice as long each time.',
    },
  ];
}
