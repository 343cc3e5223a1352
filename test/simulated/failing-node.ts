/**
 * Faults between a simulated node and its clients: of connections, of whole messages, and of single answers.
 */
import { ServerResponse } from 'node:http';
import type { WebSocket } from 'ws';
import type { Family } from '../../src/chains/chain.ts';
import { refuse } from '../../src/sandbox/http-listener.ts';
import type { Call, Interceptor, Line } from '../../src/sandbox/interceptor.ts';
import { RpcError, serverError } from '../../src/sandbox/json-rpc.ts';
import type { World } from '../../src/sandbox/world.ts';
import { answerBatch } from './batch-limits.ts';
import type { FailingChain, FaultKind, Faults, InjectedFault } from './faults.ts';
import { distortEvm, distortSolana, distortTron } from './lying-answers.ts';
import { lyingWorld } from './lying-world.ts';
import { faultsOfMethod } from './struck-methods.ts';

/** Faults of connections, in the order in which they strike. */
const connectionFaults: Readonly<Record<Family, readonly FaultKind[]>> = {
  evm: ['rpc_error', 'http_error', 'http_refused', 'hang', 'cut', 'drop', 'half_open'],
  tron: ['rpc_error', 'http_error', 'hang', 'cut', 'drop', 'method_off', 'history_closed'],
  solana: ['rpc_error', 'http_error', 'http_refused', 'hang', 'cut', 'drop', 'half_open'],
};
const distortions = { evm: distortEvm, tron: distortTron, solana: distortSolana } as const;
const internalErrors = { evm: serverError('internal error'), solana: new RpcError(-32603, 'Internal error') } as const;

const tronError = (message: string): string => `${JSON.stringify({ Error: message })}\n`;
const RATE_LIMITED = tronError('class java.lang.IllegalAccessException : lack of computing resources');
const METHOD_OFF = tronError('this API is unavailable due to config');
/** Not JSON, though its content type says so. */
const HISTORY_CLOSED = 'this API is closed because this node is a lite fullnode';

/** Returns what to start a node with: the world that it reads, and what stands between it and its clients. */
export function failingNode(chain: FailingChain, faults: Faults): Readonly<{ world: World; interceptor: Interceptor }> {
  const { family } = chain;
  let present: InjectedFault | null = null;
  let inTransit: InjectedFault | null = null;

  function call(asked: Call, answer: (params: unknown) => unknown): unknown {
    const { method, params, over } = asked;
    if (method.startsWith('sandbox_')) return answer(params);
    const name = method.slice(method.lastIndexOf('/') + 1);
    const ofConnection = connectionFaults[family].filter((kind) => kind !== 'history_closed');
    const fault = faults.strike([...ofConnection, ...faultsOfMethod(family, name, params)], method, params);
    if (fault && connectionFaults[family].includes(fault.kind)) {
      if (fault.kind === 'rpc_error' && family !== 'tron') throw internalErrors[family];
      if (fault.kind === 'http_error' && over === 'websocket') throw new RpcError(-32005, 'limit exceeded');
      inTransit ??= fault;
      return answer(params);
    }
    present = fault;
    try {
      return fault ? distortions[family]({ fault, chain, method: name, params, answer }) : answer(params);
    } finally {
      present = null;
    }
  }

  return {
    world: lyingWorld(chain.world, family, () => present),
    interceptor: {
      exchange(message, answer, line) {
        inTransit = null;
        const text = family === 'evm' ? answerBatch(message, answer, faults) : answer(message);
        deliver(inTransit, text, line);
      },
      call,
      announce({ method, params }, notify) {
        const fault = faults.strike(['push_lost', 'push_twice'], method, params);
        if (fault?.kind === 'push_lost') return;
        notify();
        if (fault?.kind === 'push_twice') notify();
      },
    },
  };
}

const cut = (text: string): string => text.slice(0, Math.floor(text.length / 2));

/** Sends an answer, unless the fault changes it. */
function deliver(fault: InjectedFault | null, text: string, { connection, send }: Line): void {
  const http = connection instanceof ServerResponse ? connection : null;
  switch (fault?.kind) {
    case 'hang':
      break;
    case 'half_open':
      if (!(connection instanceof ServerResponse)) fallSilent(connection);
      break;
    case 'drop':
      if (connection instanceof ServerResponse) connection.socket?.destroy();
      else connection.terminate();
      break;
    case 'cut':
      send(cut(text));
      break;
    case 'rpc_error':
      send(RATE_LIMITED);
      break;
    case 'history_closed':
      send(HISTORY_CLOSED);
      break;
    case 'method_off':
      http?.writeHead(404, { 'content-type': 'application/json' }).end(METHOD_OFF);
      break;
    case 'http_error':
      if (http) refuse(http, ...statusOf(fault, [429, 'Too Many Requests'], [503, 'Service Unavailable']));
      break;
    case 'http_refused':
      if (http) refuse(http, ...statusOf(fault, [403, 'invalid host specified'], [401, 'missing token']));
      else send(text);
      break;
    default:
      send(text);
  }
}

type Status = readonly [number, string];
const statusOf = ({ roll }: InjectedFault, one: Status, other: Status): Status => (roll % 2 === 0 ? one : other);

/** Leaves the connection open; unread frames leave pings and the closing handshake unanswered, too. */
function fallSilent(client: WebSocket): void {
  client.pause();
  Object.assign(client, { send() {}, pong() {} });
}
