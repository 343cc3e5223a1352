/**
 * An indexer that catches up after an outage with a node that serves blocks as large as the live network's. Node and
 * indexer are separate processes, so that each one's cost can be measured.
 */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import type { Message, Sample } from './catch-up-indexer.ts';
import { type CatchUpNetwork, catchUpNetworks } from './catch-up-networks.ts';
import { progress, type Row, round, show, startProgram, startWorker, watchOthers } from './frame.ts';
import type { Served } from './growing-world.ts';

const NODE = new URL('./catch-up-node.ts', import.meta.url);
const INDEXER = new URL('./catch-up-indexer.ts', import.meta.url);
const MB = 1e6;
const HOUR_MS = 3_600_000;
/** From this share of the time on, a busy event loop, core or machine is called the bottleneck. */
const BUSY = 0.9;
/** Memory is called flat if, by its slope, it grows by at most this share over the second half of the blocks. */
const FLAT_GROWTH_MAX = 0.05;

/** Time that one run took, in ms of wall clock or processor time. */
type Spent = Readonly<{ wallMs: number; cpuMs: number; loopBusyMs: number; nodeCpuMs: number; bytesRead: number }>;

const SHORT_BLOCKS = 300;

/** Measures one network after the other. @throws Error if an indexer missed a payment */
export async function benchCatchUps({ isShort }: Readonly<{ isShort: boolean }>): Promise<Row[]> {
  const rows: Row[] = [];
  for (const network of catchUpNetworks) rows.push(await benchCatchUp(network, isShort));
  return rows;
}

async function benchCatchUp(network: CatchUpNetwork, isShort: boolean): Promise<Row> {
  const { name } = network;
  const blocks = isShort ? Math.min(network.blocks, SHORT_BLOCKS) : network.blocks;
  const [node, served] = await startWorker<Served>(NODE, [name, String(blocks)]);
  const bar = progress(name, blocks);
  const nodeCpuBeforeMs = await askCpuMs(node);
  const othersPercent = watchOthers();
  const { samples, end } = await runIndexer(name, served, bar.step);
  const nodeCpuMs = (await askCpuMs(node)) - nodeCpuBeforeMs;
  const others = othersPercent(end.cpuMs + nodeCpuMs);
  bar.end();
  node.disconnect();
  if (end.paid !== served.paid) throw new Error(`${name}: found only ${end.paid} of ${served.paid} payments`);
  const spent = { ...end, nodeCpuMs };
  const speed = { ...speedOf(network, blocks, spent), 'others %': others };
  const memory = memoryOf(network, blocks, samples);
  show(`${name}: catching up with ${blocks} blocks (found all ${served.paid} payments)`, [speed]);
  process.stdout.write(`  bottleneck: ${bottleneckOf(spent)}\n`);
  show(`${name}: memory of the indexer, in MB`, [memory]);
  return { network: name, ...speed, bottleneck: bottleneckOf(spent), ...memory };
}

async function askCpuMs(node: ChildProcess): Promise<number> {
  node.send('cpu');
  const [{ cpuMs }] = (await once(node, 'message')) as [{ cpuMs: number }];
  return cpuMs;
}

type End = Extract<Message, { kind: 'end' }>;

/** Runs an indexer to the head. @param step receives how many blocks were read so far */
async function runIndexer(
  name: string,
  served: Served,
  step: (blocks: number) => void,
): Promise<{ samples: readonly Sample[]; end: End }> {
  const samples: Sample[] = [];
  const indexer = startProgram(INDEXER, [name, JSON.stringify(served)], { execArgv: ['--expose-gc'] });
  const end = await new Promise<End>((resolve, reject) => {
    indexer.on('message', (message: Message) => {
      if (message.kind === 'end') return resolve(message);
      samples.push(message.sample);
      step(message.sample.blocks);
    });
    indexer.once('exit', (code) => reject(new Error(`the indexer of ${name} exited early with code ${code}`)));
  });
  return { samples, end };
}

function speedOf({ blockTimeMs, target }: CatchUpNetwork, blocks: number, spent: Spent): Row {
  const { wallMs, cpuMs, nodeCpuMs, bytesRead } = spent;
  const blocksPerS = (1000 * blocks) / wallMs;
  const timesLive = blocksPerS * (blockTimeMs / 1000);
  const wanted = target && ('timesLive' in target ? `${target.timesLive} × live` : `${target.blocksPerS} blocks/s`);
  const isMet = target && ('timesLive' in target ? timesLive >= target.timesLive : blocksPerS >= target.blocksPerS);
  return {
    'KB/block': round(bytesRead / blocks / 1e3, 0),
    'blocks/s': round(blocksPerS, 0),
    '× live': round(timesLive, 0),
    target: wanted === null ? '' : `${wanted}: ${isMet ? 'met' : 'missed'}`,
    'MB/s': round(bytesRead / MB / (wallMs / 1000), 0),
    s: round(wallMs / 1000, 1),
    'indexer CPU ms/block': round(cpuMs / blocks, 2),
    'event loop ms/block': round(spent.loopBusyMs / blocks, 2),
    'node CPU ms/block': round(nodeCpuMs / blocks, 2),
  };
}

/** Returns what limited the speed, judging by how busy the cores and the event loop were. */
function bottleneckOf({ wallMs, cpuMs, loopBusyMs, nodeCpuMs }: Spent): string {
  const cores = availableParallelism();
  const shareOf = (ms: number) => `${Math.round((100 * ms) / wallMs)} %`;
  if ((cpuMs + nodeCpuMs) / wallMs >= BUSY * cores) {
    return `the ${cores} cores: indexer ${shareOf(cpuMs)} of one, simulated node ${shareOf(nodeCpuMs)}`;
  }
  if (loopBusyMs / wallMs >= BUSY) return `the indexer's event loop, busy ${shareOf(loopBusyMs)} of the time`;
  if (nodeCpuMs / wallMs >= BUSY) return `the simulated node, busy ${shareOf(nodeCpuMs)} of the time`;
  return `waiting (disk, round trips, other processes): event loop busy ${shareOf(loopBusyMs)}, node ${shareOf(nodeCpuMs)}`;
}

/**
 * Returns RSS at each quarter of the blocks, its slope after the first half (the warm-up), and live memory after a
 * garbage collection at the first and last quarter.
 */
function memoryOf({ blockTimeMs }: CatchUpNetwork, blocks: number, samples: readonly Sample[]): Row {
  const quarters = samples.filter(({ liveBytes }) => liveBytes !== null);
  const warm = samples.filter((sample) => sample.blocks >= blocks / 2);
  const slopeMb = slopeOf(warm) / MB;
  const grownMb = (slopeMb * blocks) / 2;
  const mb = (bytes: number | null | undefined) => round((bytes ?? 0) / MB, 0);
  const rss = quarters.map(({ rssBytes }, at) => [`RSS ${at + 1}/4`, mb(rssBytes)] as const);
  return {
    ...Object.fromEntries(rss),
    'RSS max': mb(Math.max(...samples.map(({ rssBytes }) => rssBytes))),
    'after GC 1/4': mb(quarters.at(0)?.liveBytes),
    'after GC 4/4': mb(quarters.at(-1)?.liveBytes),
    'blocks, hours': round((blocks * blockTimeMs) / HOUR_MS, 1),
    'RSS slope per 1000 blocks': round(slopeMb * 1000, 1),
    'growth in 2nd half': round(grownMb, 1),
    flat: grownMb <= FLAT_GROWTH_MAX * mb(quarters[1]?.rssBytes) ? 'yes' : 'no',
  };
}

/** Returns how many bytes memory grows per block, by least squares. */
function slopeOf(samples: readonly Sample[]): number {
  const mean = (values: readonly number[]) =>
    values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
  const meanBlocks = mean(samples.map(({ blocks }) => blocks));
  const meanBytes = mean(samples.map(({ rssBytes }) => rssBytes));
  let covariance = 0;
  let variance = 0;
  for (const { blocks, rssBytes } of samples) {
    covariance += (blocks - meanBlocks) * (rssBytes - meanBytes);
    variance += (blocks - meanBlocks) ** 2;
  }
  return variance === 0 ? 0 : covariance / variance;
}
