/** The ports of an installation, tried before anything starts. */
import { createServer } from 'node:net';
import type { Config } from '../config/config.ts';
import { permanent } from '../core/fault.ts';
import type { Clock } from '../lib/clock.ts';

/**
 * The server of a supervisor that was killed holds its ports until it has finished its answers: five seconds and a
 * half, and longer on a busy machine.
 */
const ENDING_MS_MAX = 20_000;
const RETRY_MS = 200;

type Place = Readonly<{ what: string; host: string; port: number; setting: string }>;

/** Returns where the server listens. Simulated nodes take any free port where theirs is in use. */
const placesOf = (config: PortSettings): readonly Place[] =>
  [
    { what: 'API and payment page', host: config.host, port: config.port, setting: 'QUAYSIDE_PORT' },
    { what: 'dashboard', host: config.host, port: config.dashboardPort, setting: 'QUAYSIDE_DASHBOARD_PORT' },
    { what: 'metrics', host: config.metricsHost, port: config.metricsPort, setting: 'QUAYSIDE_METRICS_PORT' },
  ].filter(({ port }) => port !== 0);

type PortSettings = Pick<Config, 'host' | 'port' | 'dashboardPort' | 'metricsHost' | 'metricsPort'>;

/**
 * Refuses a start whose ports are in use, with all of them in one message.
 * @param from.mayWait a server of an earlier start may be about to leave them
 * @param from.onWait called once when they are waited for
 * @throws Fault permanent `port_in_use`
 */
export async function refuseTakenPorts(
  config: PortSettings,
  from: Readonly<{ clock: Clock; signal: AbortSignal; mayWait: boolean; onWait(text: string): void }>,
): Promise<void> {
  const { clock, signal, mayWait, onWait } = from;
  const giveUpAtMs = clock.nowMs() + (mayWait ? ENDING_MS_MAX : 0);
  for (let isFirst = true; !signal.aborted; isFirst = false) {
    const taken = await takenOf(placesOf(config));
    if (taken.length === 0) return;
    if (clock.nowMs() >= giveUpAtMs) throw inUse(taken);
    if (isFirst) onWait(`Waiting for ${portsText(taken)}: a server that is ending may hold what is in use.`);
    await clock.sleep(RETRY_MS, signal);
  }
}

async function takenOf(places: readonly Place[]): Promise<readonly Place[]> {
  const free = await Promise.all(places.map(isFree));
  return places.filter((_, at) => !free[at]);
}

/** Returns whether a port is free. The server itself reports other obstacles, such as an address of another machine. */
const isFree = ({ host, port }: Place): Promise<boolean> =>
  new Promise((resolve) => {
    const server = createServer();
    server.once('error', ({ code }: NodeJS.ErrnoException) => resolve(code !== 'EADDRINUSE'));
    server.listen({ host, port }, () => server.close(() => resolve(true)));
  });

const portsText = (places: readonly Place[]): string =>
  `port${places.length > 1 ? 's' : ''} ${places.map(({ port, what }) => `${port} (${what})`).join(', ')}`;

function inUse(taken: readonly Place[]): Error {
  const settings = taken.map(({ setting }) => setting).join(', ');
  return permanent(
    'port_in_use',
    taken.length === 1
      ? `${portsText(taken)} is in use by another program; stop that program or set ${settings} to a free port`
      : `${portsText(taken)} are in use by other programs; stop those programs or set ${settings} to free ports`,
  );
}
