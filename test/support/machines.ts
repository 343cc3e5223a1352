/**
 * Machines of one shop on one database: whole installations with a data folder each, over one simulated node.
 */
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { quaysideTool } from '../../scripts/cli/quayside.ts';
import { XPUB } from '../e2e/evm.ts';
import type { Json } from './instance.ts';
import { endAll } from './processes.ts';
import { type Supervisor, served, spawnSupervisor, toolAnswer } from './quayside-process.ts';
import type { Credentials } from './signed-client.ts';
import { sandboxTokens, startSimulatedNode } from './simulated-node.ts';

export type Folder = Readonly<{ dataDir: string; variables: Readonly<Record<string, string>> }>;

export type Machine = Folder & Readonly<{ supervisor: Supervisor; baseUrl: string }>;

/** Makes a machine's data folder. @param first has the secret key that all machines share */
function makeFolder(settings: object, first?: Folder): Folder {
  const dataDir = mkdtempSync(join(tmpdir(), 'quayside-machine-'));
  const file = join(dataDir, 'config.json');
  writeFileSync(file, JSON.stringify({ ...settings, data_dir: dataDir }));
  if (first) copyFileSync(join(first.dataDir, 'secret.key'), join(dataDir, 'secret.key'));
  return { dataDir, variables: { QUAYSIDE_CONFIG: file } };
}

/** Returns what the server of a machine has written about itself. */
export const serverOf = ({ dataDir }: Folder): Json => JSON.parse(readFileSync(join(dataDir, 'server.json'), 'utf8'));

/** Starts a machine, and waits until it serves. */
export async function startMachine(folder: Folder): Promise<Machine> {
  const supervisor = spawnSupervisor(folder.variables);
  const { base_url: baseUrl } = await served(supervisor, folder.dataDir);
  return { ...folder, supervisor, baseUrl };
}

/**
 * Prepares a shop with one network, and the folder of its first machine, which is not started yet.
 * @param url of a PostgreSQL database; null: SQLite, for one machine
 * @param more settings of each machine
 */
export async function openMachines(url: string | null, blockMs: number, more: object) {
  const node = await startSimulatedNode({ family: 'evm', seed: 'machines', chainId: '1' });
  node.mineEvery(blockMs);
  const ethereum = {
    ...{ mode: 'test', url: node.url, xpub: XPUB, reorg_depth_max: 20, poll_ms: blockMs, block_time_ms: blockMs },
    ...{ confirmations: { blocks: 2, finality: null, tiers: null }, tokens: sandboxTokens },
  };
  const settings = {
    ...{ port: 0, webhooks: { allow_cidrs: ['127.0.0.0/8'] }, networks: { ethereum }, ...more },
    ...(url !== null && { database_url: url }),
  };
  const folders = [makeFolder(settings)];
  const [folder] = folders as [Folder];
  const cli = (...words: string[]): Promise<Json> => toolAnswer(quaysideTool, words, folder.variables);
  const store = await cli('store', 'add', 'Test store');
  const scopes = ['--scopes', 'sessions:read,sessions:write'];
  const key = await cli('key', 'create', '--store', store.id, '--mode', 'test', ...scopes);
  return {
    ...{ node, folder, cli, storeId: store.id as string },
    /** Adds the folder of another machine. */
    addFolder(): Folder {
      const added = makeFolder(settings, folder);
      folders.push(added);
      return added;
    },
    credentials: ({ baseUrl }: Machine): Credentials => ({ baseUrl, apiKey: key.api_key, apiSecret: key.api_secret }),
    async close() {
      await endAll();
      await node.close();
      for (const { dataDir } of folders) rmSync(dataDir, { recursive: true, force: true });
    },
  };
}
