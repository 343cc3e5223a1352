/**
 * Writes one file that helps somebody else to see what is wrong with an installation, without its secrets.
 */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { openDatabase } from '../../src/app/open-database.ts';
import { type Config, loadConfig } from '../../src/config/config.ts';
import { Fault, permanent } from '../../src/core/fault.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { readShipped } from '../../src/lib/installation.ts';
import { createSecretFile } from '../../src/lib/secret-file.ts';
import { databaseFile, secretKeyFile } from '../../src/lib/secret-key.ts';
import type { Finding } from '../nodes/finding.ts';
import { type Answer, type Input, moment } from './command.ts';
import { withoutSecrets } from './support-redaction.ts';

const ALARMS_MAX = 200;
const ACTS_MAX = 100;
const PAYOUTS_MAX = 50;

/** Writes the findings, versions, settings, networks, alarms, acts and counts into a new file, without secrets. */
export async function writeBundle(input: Input, name: string, findings: readonly Finding[]): Promise<Answer> {
  const file = resolve(input.cwd, name);
  const bundle = withoutSecrets(await gather(input, systemClock.nowMs(), findings), knownSecrets(input));
  const text = `${JSON.stringify(bundle, null, 2)}\n`;
  if (!createSecretFile(file, text)) throw permanent('refused', `${file} exists already; name another with --bundle`);
  return {
    json: { file, bytes: statSync(file).size },
    lines: [`wrote ${file}, which only you can read; look at it before you send it`],
  };
}

async function gather(input: Input, nowMs: number, findings: readonly Finding[]): Promise<Record<string, unknown>> {
  const always = {
    made_at: moment(nowMs),
    version: readShipped<{ version: string }>('package.json').version,
    node: process.version,
    platform: `${process.platform} ${process.arch}`,
    // Their names only.
    variables: Object.keys(input.env)
      .filter((one) => one.startsWith('QUAYSIDE_'))
      .sort(),
    findings,
  };
  try {
    const config = loadConfig(input);
    return { ...always, settings: settingsOf(config), ...(await fromDatabase(config, input, nowMs)) };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return { ...always, fault: error.code };
  }
}

/** Only what is named here is in the bundle, so a new setting is left out until somebody decides. */
const settingsOf = (config: Config) => ({
  mode: config.sandbox ? 'sandbox' : 'configured',
  request_signature: config.requestSignature,
  limits: config.limits,
  alarms: config.alarms,
  comparison: config.comparison,
  rates: { sources: config.rates.sources },
  signer: config.signer ? config.signer.unlock.kind : null,
  networks: config.networks.map((one) => ({
    network: one.key,
    family: one.family,
    chain_id: one.chainId,
    url: one.url,
    rpc_url: one.rpcUrl,
    solid_url: one.finalityUrl,
    witness_url: one.witnessUrl,
    fallback_url: one.fallbackUrl,
    confirmations: one.confirmations.map(({ fromPar, ...tier }) => ({ ...tier, from: fromPar?.toString() })),
    tokens: one.tokens,
    reorg_depth_max: one.reorgDepthMax,
    block_time_ms: one.blockTimeMs,
    poll_ms: one.pollMs,
    has_xpub: one.xpub !== null,
  })),
});

async function fromDatabase(config: Config, { env }: Input, nowMs: number) {
  if (!existsSync(databaseFile(config.dataDir))) return {};
  const database = openDatabase(config, env);
  try {
    const payouts = await database.listPayouts({ limit: PAYOUTS_MAX });
    return {
      networks: await database.networks.list(),
      gaps: await Promise.all(
        config.networks.map(async ({ key }) => ({ network: key, gaps: await database.networks.listGaps(key) })),
      ),
      counts: await database.reports.stats(nowMs),
      payouts: await database.payoutStats(),
      newest_payouts: payouts.map(({ network, state, generation, wait, fault, intent, createdAtMs }) => ({
        kind: intent.kind,
        ...{ network, state, generation, wait, fault, created_at: moment(createdAtMs) },
      })),
      engines: await database.listEngines(),
      freezes: await database.listFreezes(),
      endpoints: (await database.listEndpoints(null)).map(({ mode, url, disabledReason }) => ({
        mode,
        url,
        disabledReason,
      })),
      // Without their texts, which name orders, sessions and amounts.
      alarms: (await database.alarms.list(ALARMS_MAX)).map(({ atMs, code, network, endedAtMs }) => ({
        at: moment(atMs),
        ...{ code, network },
        ended_at: endedAtMs === null ? null : moment(endedAtMs),
      })),
      operators: (await database.audit.list(ACTS_MAX)).map(({ atMs, command }) => ({ at: moment(atMs), command })),
    };
  } finally {
    database.close();
  }
}

/** Values that must not be in the bundle, whatever they look like. */
function knownSecrets({ env, cwd }: Input): string[] {
  const values = Object.entries(env).flatMap(([name, value]) =>
    value && name.startsWith('QUAYSIDE_') && /SECRET|KEY|PASS|TOKEN|PHRASE|SEED|XPUB|URL/.test(name) ? [value] : [],
  );
  try {
    const { dataDir } = loadConfig({ env, cwd });
    const file = secretKeyFile(dataDir, env);
    return existsSync(file) ? [...values, readFileSync(file, 'utf8').trim()] : values;
  } catch (error) {
    if (error instanceof Fault) return values;
    throw error;
  }
}
