/**
 * Measures the live memory of another Node process, after a garbage collection, through its inspector.
 * @module
 */
import { once } from 'node:events';
import { WebSocket } from 'ws';
import { systemClock } from '../../src/lib/clock.ts';

/** Environment for a process whose inspector is opened later: it then takes any free port. */
export const inspectable = { NODE_OPTIONS: '--inspect-port=0' } as const;

const LISTENING = /Debugger listening on (ws:\/\/\S+)/g;
const LOOK_MS = 50;
const LOOKS_MAX = 600;

/** Opens a process's inspector. @param stderr what it and its children have written so far @returns the URL */
export async function inspectorOf(pid: number, stderr: () => string): Promise<string> {
  const urls = () => [...stderr().matchAll(LISTENING)].map(([, url = '']) => url);
  const before = urls().length;
  // Node opens its inspector on this signal: https://nodejs.org/api/process.html#signal-events
  process.kill(pid, 'SIGUSR1');
  for (let look = 0; look < LOOKS_MAX; look++) {
    const [opened] = urls().slice(before);
    if (opened) return opened;
    await systemClock.sleep(LOOK_MS);
  }
  throw new Error(`process ${pid} did not open its inspector`);
}

/** Returns the bytes of heap and buffers in use. @param inspectorUrl from `inspectorOf` */
export async function liveBytes(inspectorUrl: string): Promise<number> {
  const socket = new WebSocket(inspectorUrl);
  await once(socket, 'open');
  const ask = async (id: number, method: string, params = {}): Promise<unknown> => {
    socket.send(JSON.stringify({ id, method, params }));
    for (;;) {
      const [data] = await once(socket, 'message');
      const answer = JSON.parse(String(data));
      if (answer.id === id) return answer.result;
    }
  };
  await ask(1, 'HeapProfiler.collectGarbage');
  const expression = 'process.memoryUsage().heapUsed + process.memoryUsage().external';
  const { result } = (await ask(2, 'Runtime.evaluate', { expression })) as { result: { value: number } };
  socket.terminate();
  return result.value;
}
