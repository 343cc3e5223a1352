/**
 * The seam between a simulated node and its clients. Tests stand there, and make nodes fail, lag
 * and lie in it. Shipped networks let everything pass.
 */
import type { ServerResponse } from 'node:http';
import type { WebSocket } from 'ws';

/** One call: a JSON-RPC method, or a path of java-tron's interface, with what came with it. */
export type Call = Readonly<{ method: string; params: unknown; over: 'http' | 'websocket' }>;

/** Where the answer to a message goes. */
export type Line = Readonly<{ connection: ServerResponse | WebSocket; send(text: string): void }>;

export type Interceptor = Readonly<{
  /**
   * Answers one message.
   * @param answer returns what the node says to a message
   */
  exchange(message: string, answer: (message: string) => string, line: Line): void;
  /**
   * Answers one call of a message.
   * @param answer returns what the node says, or throws its refusal
   */
  call(call: Call, answer: (params: unknown) => unknown): unknown;
  /** Announces a new head to one subscription, which `call` names. */
  announce(call: Omit<Call, 'over'>, notify: () => void): void;
}>;

/** Lets everything pass. */
export const passing: Interceptor = {
  exchange: (message, answer, line) => line.send(answer(message)),
  call: ({ params }, answer) => answer(params),
  announce: (_, notify) => notify(),
};
