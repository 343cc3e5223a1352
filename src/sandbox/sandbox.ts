/**
 * The whole sandbox: every configured sandbox network with its world, its miner and its node server.
 */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { HDKey } from '@scure/bip32';
import type { Clock } from '../lib/clock.ts';
import { dialectNames } from './evm-dialect.ts';
import { families, type SimulatedChain, worldShape } from './families.ts';
import { passing } from './interceptor.ts';
import { openDurableWorld } from './journal.ts';
import { startMiner } from './miner.ts';
import { readSandboxFile, type SandboxFile, sandboxSeed, writeSandboxFile } from './sandbox-file.ts';

/** On a chain on which nothing is under way, one block comes in place of so many: each costs work in all processes. */
const QUIET_BLOCKS = 10;
/** Blocks after the finality of the last payment in which its session, refund and sweep are still counted through. */
const AFTER_FINAL_BLOCKS = 40;

type SandboxNetwork = SimulatedChain & Readonly<{ name: string; blockTimeMs: number }>;

type SandboxOptions = Readonly<{
  dataDir: string;
  networks: readonly SandboxNetwork[];
  clock: Clock;
  /** Called when a network cannot mine any more blocks. */
  onFault(network: string, error: unknown): void;
}>;

export type Sandbox = Readonly<{ details: SandboxFile; close(): Promise<void> }>;

/**
 * Opens every network, continuing its chain, and writes `sandbox.json`.
 * @throws Fault permanent if a file of an earlier run cannot be read
 */
export async function openSandbox({ dataDir, networks, clock, onFault }: SandboxOptions): Promise<Sandbox> {
  const file = join(dataDir, 'sandbox.json');
  const fresh = newSandboxFile(sandboxSeed(dataDir));
  const known = readSandboxFile(file) ?? fresh;
  // An earlier run may not have known every family.
  const before = { ...known, xpub: { ...fresh.xpub, ...known.xpub } };
  const opened = await Promise.all(networks.map(openNetwork));

  async function openNetwork(network: SandboxNetwork) {
    const dialect = dialectNames.find((known) => known === network.name);
    const shape = worldShape({ ...network, ...(dialect && { dialect }) });
    const { world, close } = openDurableWorld({
      ...shape,
      file: join(dataDir, 'sandbox', `${network.name}.jsonl`),
      seed: randomBytes(16).toString('hex'),
      clock,
    });
    const pace = {
      intervalMs: network.blockTimeMs,
      quiet: {
        intervalMs: QUIET_BLOCKS * network.blockTimeMs,
        afterBlocks: shape.finalityDistance + AFTER_FINAL_BLOCKS,
      },
    };
    const miner = startMiner(world, clock, pace, (error) => onFault(network.name, error));
    const server = await families[network.family].startServer({
      world,
      interceptor: passing,
      chainId: network.chainId,
      ...(dialect && { dialect }),
      tokens: network.tokens,
      port: portOf(before.networks[network.name]?.url),
      controlToken: before.token,
    });
    return {
      name: network.name,
      place: { url: server.url, ...(server.rpcUrl !== undefined && { rpc_url: server.rpcUrl }) },
      async close() {
        await miner.stop();
        await server.close();
        close();
      },
    };
  }

  const details = { ...before, networks: Object.fromEntries(opened.map(({ name, place }) => [name, place])) };
  writeSandboxFile(file, details);
  return {
    details,
    async close() {
      await Promise.all(opened.map((network) => network.close()));
    },
  };
}

/** Returns the port of an earlier run, so that clients which remember the address still find the node; 0 for any. */
const portOf = (url: string | undefined): number => (url === undefined ? 0 : Number(new URL(url).port));

/** Returns the first content of the file: the xpubs of the seed, and a control token. */
function newSandboxFile(seed: Uint8Array): SandboxFile {
  const account = (path: string) => HDKey.fromMasterSeed(seed).derive(path).publicExtendedKey;
  const deriving = Object.entries(families).flatMap(([family, { xpubPath }]) =>
    xpubPath ? [{ family, xpubPath }] : [],
  );
  return {
    xpub: Object.fromEntries(deriving.map(({ family, xpubPath }) => [family, account(xpubPath)])),
    token: randomBytes(24).toString('base64url'),
    networks: {},
  };
}
