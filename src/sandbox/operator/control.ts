/**
 * Controls simulated chains: one JSON-RPC call to the node of a sandbox network, with the control token that only the
 * owner of the data directory can read.
 */
import { join } from 'node:path';
import * as z from 'zod';
import { permanent, transient } from '../../core/fault.ts';
import type { Currency } from '../../core/transfer.ts';
import { singleRequests } from '../../lib/single-requests.ts';
import { readSandboxFile } from '../sandbox-file.ts';

const CALL_TIMEOUT_MS = 10_000;

const answerSchema = z.object({
  result: z.unknown().optional(),
  error: z.object({ message: z.string() }).optional(),
});

type SandboxPayment = Readonly<{ to: string; symbol: Currency; units: bigint }>;

/**
 * Sends a token transfer on a simulated network, in the next block.
 * @returns the transaction hash
 * @throws Fault `sandbox_unreachable`, `sandbox_refused`
 */
export async function payInSandbox(dataDir: string, network: string, payment: SandboxPayment): Promise<string> {
  const params = { to: payment.to, symbol: payment.symbol, amount: payment.units.toString() };
  const result = await controlSandbox(dataDir, network, 'sandbox_pay', params);
  return z.object({ transactionHash: z.string() }).parse(result).transactionHash;
}

/**
 * Creates native coin for an account, in the next block.
 * @throws as `payInSandbox`
 */
export const fundInSandbox = (dataDir: string, network: string, to: string, units: bigint): Promise<unknown> =>
  controlSandbox(dataDir, network, 'sandbox_fund', { to, amount: units.toString() });

/**
 * Adds `blocks` blocks to a simulated chain.
 * @throws as `payInSandbox`
 */
export const mineInSandbox = (dataDir: string, network: string, blocks: number): Promise<unknown> =>
  controlSandbox(dataDir, network, 'sandbox_mine', { blocks });

/**
 * Replaces the newest `depth` blocks of a simulated chain with empty ones.
 * @throws as `payInSandbox`
 */
export const reorgInSandbox = (dataDir: string, network: string, depth: number): Promise<unknown> =>
  controlSandbox(dataDir, network, 'sandbox_reorg', { depth });

/**
 * Calls any of the methods that `src/sandbox/README.md` lists.
 * @throws as `payInSandbox`
 */
async function controlSandbox(dataDir: string, network: string, method: string, params: object): Promise<unknown> {
  const sandbox = readSandboxFile(join(dataDir, 'sandbox.json'));
  const place = sandbox?.networks[network];
  const url = place?.rpc_url ?? place?.url;
  if (!sandbox || !url) {
    const known = Object.keys(sandbox?.networks ?? {}).join(', ') || 'none: the sandbox has not been started';
    throw permanent('not_found', `there is no sandbox network "${network}" in ${dataDir} (${known})`);
  }
  const { result, error } = answerSchema.parse(
    await post(url, sandbox.token, { jsonrpc: '2.0', id: 1, method, params }),
  );
  if (error) throw permanent('sandbox_refused', `the sandbox refused: ${error.message}`);
  return result;
}

async function post(url: string, token: string, body: object): Promise<unknown> {
  try {
    const { origin, pathname: path } = new URL(url.replace(/^ws/, 'http'));
    const answer = await singleRequests.request({
      origin,
      path,
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(CALL_TIMEOUT_MS),
    });
    return await answer.body.json();
  } catch (error) {
    throw transient('sandbox_unreachable', `the sandbox does not answer at ${url}; is \`npm start\` running?`, error);
  }
}
