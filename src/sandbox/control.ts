/**
 * The control methods `sandbox_*`, the same on every family's node server: pay, fund, mine, reorg. Parameters are one
 * object, by name or as the only positional argument. Amounts are base units as decimal strings.
 */
import { timingSafeEqual } from 'node:crypto';
import * as z from 'zod';
import type { AddressCodec } from '../chains/chain.ts';
import { Fault } from '../core/fault.ts';
import type { Token } from '../core/transfer.ts';
import type { WorldBlock } from './block-tree.ts';
import { digest } from './digest.ts';
import { invalidParams, methodNotFound, RpcError, serverError } from './json-rpc.ts';
import type { World } from './world.ts';

type Controlled = Readonly<{
  world: World;
  tokens: readonly Readonly<{ symbol: Token['symbol']; key: string }>[];
  codec: Pick<AddressCodec, 'keyBytes' | 'parse'>;
  /** Whether somebody can have the key of an address; everybody can, if absent. */
  isSpendable?: (key: string) => boolean;
  /** How the family writes the hashes of blocks, and of transactions if that differs. */
  formatHash: (digits: string) => string;
  formatTransaction?: (digits: string) => string;
}>;

const MINED_AT_ONCE_MAX = 10_000;

const amount = z
  .string()
  .regex(/^\d{1,78}$/, 'expected base units as a decimal string')
  .transform(BigInt)
  .refine((units) => units < 2n ** 256n, 'more than any token can hold');
const payParams = z.object({ to: z.string(), symbol: z.string().default('USDT'), amount });
const fundParams = z.object({ to: z.string(), amount });
const mineParams = z.object({ blocks: z.int().min(1).max(MINED_AT_ONCE_MAX).default(1) });
const reorgParams = z.object({ depth: z.int().min(1) });

/** Returns the object among the parameters. */
const named = (params: unknown): unknown => (Array.isArray(params) ? params[0] : params) ?? {};

/**
 * Returns the object among the parameters, checked.
 * @throws RpcError −32602 that names every wrong field
 */
function read<T>(schema: z.ZodType<T>, params: unknown): T {
  const { data, error } = schema.safeParse(named(params));
  if (error) throw invalidParams(z.prettifyError(error));
  return data as T;
}

/** Whether the caller has the token, as `Authorization: Bearer …`. */
const isAuthorized = (token: string | null, bearer: string): boolean =>
  token === null || timingSafeEqual(Buffer.from(digest('token', bearer)), Buffer.from(digest('token', token)));

type Method = (params: unknown) => unknown;

/**
 * Creates the control methods of a world.
 * @param token required from callers; null if control is open (tests)
 */
export function openControl(controlled: Controlled, token: string | null) {
  const methods = controlMethods(controlled);
  return {
    has: (method: string) => methods.has(method),
    /**
     * Calls a control method.
     * @param bearer from `Authorization: Bearer …`; empty if there is none
     * @throws RpcError, also for an unauthorized caller
     */
    call(method: string, params: unknown, bearer: string): unknown {
      const run = methods.get(method);
      if (!run) throw methodNotFound(method);
      if (isAuthorized(token, bearer)) return run(params);
      throw serverError('control of the sandbox needs the token in sandbox.json, as "Authorization: Bearer <token>"');
    },
  };
}

function controlMethods(controlled: Controlled): ReadonlyMap<string, Method> {
  const { world, tokens, codec, formatHash, formatTransaction = formatHash } = controlled;
  const { isSpendable = () => true } = controlled;

  const keyOf = (text: string): string => {
    const key = codec.parse(text);
    if (key === null) throw invalidParams(`"${text}" is not an address of this network`);
    return key;
  };

  const tokenOf = (symbol: string): string => {
    const known = tokens.find((token) => token.symbol === symbol);
    if (known) return known.key;
    throw invalidParams(`there is no token ${symbol}, only ${tokens.map((token) => token.symbol).join(', ')}`);
  };

  /** Returns a stranger, the same for the same payment: an address that can be paid back. */
  function strangerPaying(to: string): string {
    for (let tries = 0; ; tries++) {
      const key = digest('payer', to, tries).slice(0, 2 * codec.keyBytes);
      if (isSpendable(key)) return key;
    }
  }

  const showBlock = (block: WorldBlock) => ({ number: block.number, hash: formatHash(block.hash) });

  const methods: Record<string, Method> = {
    sandbox_pay(params) {
      const given = read(payParams, params);
      const output = { token: tokenOf(given.symbol), to: keyOf(given.to), units: given.amount };
      const id = world.pay({ kind: 'direct', from: strangerPaying(output.to), outputs: [output] });
      return { transactionHash: formatTransaction(id) };
    },
    sandbox_fund(params) {
      const { to, amount: units } = read(fundParams, params);
      return { transactionHash: formatTransaction(world.fund(keyOf(to), units)) };
    },
    sandbox_mine(params) {
      for (let { blocks } = read(mineParams, params); blocks > 0; blocks--) world.mine();
      return showBlock(world.tip());
    },
    sandbox_reorg(params) {
      const { removed, added } = world.reorg(read(reorgParams, params));
      return { removed: removed.map(showBlock), added: added.map(showBlock) };
    },
  };
  return new Map(Object.entries(methods).map(([name, method]) => [name, translated(method)]));
}

/** Operating faults become JSON-RPC errors; anything else is a bug and ends the process. */
function translated(method: Method): Method {
  return (params) => {
    try {
      return method(params);
    } catch (error) {
      if (error instanceof RpcError || !(error instanceof Fault)) throw error;
      throw error.kind === 'permanent' ? invalidParams(error.message) : serverError(error.message);
    }
  };
}
