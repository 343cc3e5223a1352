/**
 * Signed creates of sessions on both engines: SQLite with one server; PostgreSQL on the same machine, whose commits are
 * synced too, with one, two and four.
 */
import { openMachines } from '../../test/support/machines.ts';
import { copyTemplate, serverPrograms, startPostgres } from '../../test/support/postgres.ts';
import { find, type Supervisor } from '../../test/support/quayside-process.ts';
import { CONCURRENT, createOrder, openTarget } from './calls.ts';
import { median, progress, type Row, round, show } from './frame.ts';

type Size = Readonly<{ runs: number; burst: number }>;
const whole: Size = { runs: 3, burst: 2_000 };
const short: Size = { runs: 2, burst: 400 };

const cases = [
  { engine: 'SQLite', servers: 1 },
  { engine: 'PostgreSQL', servers: 1 },
  { engine: 'PostgreSQL', servers: 2 },
  { engine: 'PostgreSQL', servers: 4 },
] as const;

/** Measures each in turn, and compares within each run. */
export async function benchEngines({ isShort }: Readonly<{ isShort: boolean }>): Promise<Row[]> {
  const bin = serverPrograms();
  if (!bin) throw new Error('PostgreSQL is not installed (package postgresql)');
  const { runs, burst } = isShort ? short : whole;
  const postgres = await startPostgres(bin, { shared_buffers: '256MB' });
  const rates = cases.map((): number[] => []);
  const bar = progress('engines', runs * cases.length);
  try {
    for (let run = 0; run < runs; run++) {
      for (const [at, { engine, servers }] of cases.entries()) {
        const copied = engine === 'PostgreSQL' ? copyTemplate(postgres.folder) : null;
        rates[at]?.push(await rateOn(copied?.url ?? null, servers, burst));
        copied?.remove();
        bar.step(run * cases.length + at + 1);
      }
    }
  } finally {
    bar.end();
    postgres.stop();
  }
  const rows = cases.map(({ engine, servers }, at) => ({
    engine,
    servers,
    'creates /s': round(median(rates[at] ?? []), 0),
    'of SQLite': round(median((rates[at] ?? []).map((rate, run) => rate / (rates[0]?.[run] ?? rate)))),
  }));
  show(`Signed creates on both engines, ${CONCURRENT} at once`, rows);
  return rows;
}

/** Starts servers on a new database, and creates sessions at all of them. @returns creates/s */
async function rateOn(url: string | null, servers: number, burst: number): Promise<number> {
  const limits = { pool_target: burst, requests_per_second_per_key: 100_000, requests_per_second_per_address: 100_000 };
  const bench = await openMachines(url, 2_000, { limits });
  try {
    const machines = [bench.first];
    while (machines.length < servers) machines.push(bench.add());
    const supervisors: Supervisor[] = [];
    for (const machine of machines) supervisors.push(await machine.start());
    await find('enough deposit addresses', async () =>
      (await bench.first.cli('status')).pools.every(({ free }: { free: number }) => free >= burst),
    );
    const targets = machines.map(({ server }, at) => openTarget(server().base_url, supervisors[at]?.pid ?? 0));
    const { apiKey: key, apiSecret: secret } = bench.store.credentials;
    let orders = 0;
    const lane = async (_: unknown, at: number) => {
      const target = targets[at % servers] as (typeof targets)[number];
      while (orders < burst) await createOrder(target, `order-${orders++}`, { key, secret });
    };
    const startedAtMs = performance.now();
    await Promise.all(Array.from({ length: CONCURRENT }, lane));
    const seconds = (performance.now() - startedAtMs) / 1000;
    await Promise.all(targets.map(({ pool }) => pool.close()));
    return burst / seconds;
  } finally {
    await bench.close();
  }
}
