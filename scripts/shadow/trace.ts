/**
 * Collects the raw exchanges of each call to a node. Calls run side by side, so an exchange is attributed by its
 * asynchronous context.
 * @module
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Exchange } from '../../src/chains/chain.ts';

export type Traffic = Readonly<{ requests: number; bytes: number }>;

export type Trace = Readonly<{
  /** For `NodeOptions.observe`. */
  observe(exchange: Exchange): void;
  /** Runs `work`, which gets the list of the exchanges that it makes; the list grows while it runs. */
  run<T>(work: (exchanges: readonly Exchange[]) => Promise<T>): Promise<T>;
  /** All exchanges so far, and the bytes of their answers. */
  traffic(): Traffic;
}>;

export function createTrace(): Trace {
  const calls = new AsyncLocalStorage<Exchange[]>();
  let traffic: Traffic = { requests: 0, bytes: 0 };
  return {
    observe(exchange) {
      traffic = { requests: traffic.requests + 1, bytes: traffic.bytes + (exchange.answer?.byteLength ?? 0) };
      calls.getStore()?.push(exchange);
    },
    run(work) {
      const exchanges: Exchange[] = [];
      return calls.run(exchanges, () => work(exchanges));
    },
    traffic: () => traffic,
  };
}
