/** Stands between a client and a node of any family, and answers some calls falsely. */
import type { Family } from '../../src/chains/chain.ts';
import { startLyingProxy } from './lying-proxy.ts';
import { startPostProxy } from './post-proxy.ts';
import type { Json } from './recordings.ts';

/** An error in place of a result of JSON-RPC. */
export class Failure {
  readonly error: Readonly<{ code: number; message: string }>;
  constructor(code: number, message: string) {
    this.error = { code, message };
  }
}

/**
 * Returns the false answer to a call; undefined for the true one of the node.
 * @param call the method of JSON-RPC, or the path of java-tron's interface
 * @param asked the parameters, or the body
 */
export type Lie = (call: string, asked: Json, honest: Json) => unknown;

export type Liar = Readonly<{
  url: string;
  /** Ends the lie that was told before. */
  tell(lie: Lie): void;
  /** Answers nothing of use any more. */
  fail(): void;
  heal(): void;
  close(): Promise<void>;
}>;

export async function startLiar(family: Family, node: Readonly<{ httpUrl: string; wsUrl: string }>): Promise<Liar> {
  if (family === 'tron') {
    const { url, lies, close } = await startPostProxy(node.httpUrl);
    return {
      ...{ url, close },
      tell(lie) {
        lies.answer = (path, body, text) => {
          const told = lie(path, body, JSON.parse(text));
          return told === undefined ? undefined : JSON.stringify(told);
        };
      },
      fail() {
        lies.answer = () => 'lack of computing resources';
      },
      heal() {
        delete lies.answer;
      },
    };
  }
  const { httpUrl: url, lies, heal, close } = await startLyingProxy(node);
  return {
    ...{ url, heal, close },
    tell(lie) {
      heal();
      lies.answer = ({ method, params }, answer) => {
        const told = lie(method, params, answer.result);
        if (told === undefined) return answer;
        return {
          jsonrpc: '2.0',
          id: answer.id,
          ...(told instanceof Failure ? told : { result: told }),
        };
      };
    },
    fail() {
      lies.status = 503;
    },
  };
}
