/**
 * Answers of java-tron's HTTP interface: JSON with status 200, even for errors. Pure.
 *
 * Sources: https://tronprotocol.github.io/documentation-en/api/http/ and java-tron
 * `services/http/{Util,RateLimiterServlet}.java`, `services/filter/LiteFnQueryHttpFilter.java`.
 */

import { excerpt } from '../../core/excerpt.ts';
import { type Fault, transient } from '../../core/fault.ts';
import { isFields } from '../../core/fields.ts';

/** Source of an answer, for fault messages. Never a whole URL, which may hold credentials. */
export type Origin = Readonly<{ path: string; host: string }>;

/** Returns whether an answer is `{}`, which means that the node does not have the thing requested. */
export const isUnknown = (value: unknown): boolean => isFields(value) && Object.keys(value).length === 0;

export function nonsense(origin: Origin, what: string, cause?: unknown): Fault {
  return transient(
    'node_nonsense',
    `${origin.path} at ${origin.host} ${what}. If this persists, the URL is wrong or something between us and the node changes its answers: check the network's url`,
    cause,
  );
}

/** First match wins; the texts are java-tron's own. */
const meanings: readonly Readonly<{ code: string; text: RegExp; advice: string }>[] = [
  {
    code: 'node_rate_limited',
    text: /lack of computing resources/i,
    advice: 'the node limits requests: raise rate.limiter in its configuration, or keep other clients off it',
  },
  {
    code: 'node_history_pruned',
    text: /lite ?fullnode/i,
    advice: 'set node.openHistoryQueryWhenLiteFN = true in its configuration, or use a full node',
  },
  {
    code: 'node_method_missing',
    text: /unavailable due to config/i,
    advice: "remove the path from node.disabledApi in the node's configuration",
  },
  {
    code: 'node_constant_calls_off',
    text: /does not support constant/i,
    advice:
      "set vm.supportConstant = true in the node's configuration and restart it: tokens are checked with such calls",
  },
];

/**
 * Turns an error text into a fault. It is always transient: nodes are restarted, upgraded and reconfigured at any time.
 */
export function errorFault(text: string, origin: Origin): Fault {
  const meaning = meanings.find((one) => one.text.test(text));
  return transient(
    meaning?.code ?? 'node_error',
    `${origin.path} at ${origin.host} answered with the error "${excerpt(text)}": ${meaning?.advice ?? "look at the node's log"}`,
  );
}

/**
 * Returns one answer's JSON value.
 * @throws Fault transient: `node_nonsense` if it is not JSON, or what the node's error means
 */
export function readAnswer(bytes: Uint8Array, origin: Origin): unknown {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString();
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    // Some refusals are plain text.
    if (meanings.some((one) => one.text.test(text))) throw errorFault(text, origin);
    throw nonsense(origin, `answered with text that is not JSON (${bytes.byteLength} bytes): ${excerpt(text)}`, error);
  }
  if (isFields(value) && typeof value.Error === 'string') throw errorFault(value.Error, origin);
  return value;
}

/** Returns a message that is text or hex bytes, depending on java-tron's version. */
export function messageText(message: unknown): string {
  if (typeof message !== 'string') return 'no message';
  return /^([0-9a-f]{2})+$/i.test(message) ? Buffer.from(message, 'hex').toString() : message;
}

/**
 * Reads a whole number, which JSON omits when it is zero.
 * @throws Fault transient `node_nonsense`
 */
export function readWhole(value: unknown, name: string, origin: Origin): bigint {
  const { [name]: number = 0 } = isFields(value) ? value : {};
  if (isFields(value) && Number.isSafeInteger(number) && Number(number) >= 0) return BigInt(Number(number));
  throw nonsense(origin, `answered with a missing or malformed ${name}`);
}
