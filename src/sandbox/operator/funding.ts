/**
 * Gives the wallets of the sandbox's signer simulated money.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { chains } from '../../chains/index.ts';
import type { Config } from '../../config/config.ts';
import type { NetworkConfig } from '../../config/network.ts';
import { Fault } from '../../core/fault.ts';
import { pow10 } from '../../core/money.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Log } from '../../lib/log.ts';
import { writeSecretFile } from '../../lib/secret-file.ts';
import { openConfiguredSigner } from '../../signer/client.ts';
import { fundInSandbox, payInSandbox } from './control.ts';

const RETRY_MS = 500;
/** Coins that each wallet gets of the native coin, and the refund wallet of each token: more than anybody will use. */
const COINS = 1_000n;
const TOKENS = 100_000n;

const fundedSchema = z.record(z.string(), z.string());

/** Gives the signer's wallets their money on each simulated network, once; waits for what is not running yet. */
export async function fundSandboxWallets(config: Config, clock: Clock, log: Log, signal: AbortSignal): Promise<void> {
  if (!config.sandbox || !config.signer) return;
  const file = join(config.dataDir, 'sandbox', 'funded.json');
  const funded = existsSync(file) ? fundedSchema.parse(JSON.parse(readFileSync(file, 'utf8'))) : {};
  const signer = openConfiguredSigner(config.signer);
  try {
    for (const network of config.networks) {
      for (let isWarned = false; !signal.aborted; ) {
        try {
          const { refund, gas, treasury } = await signer.wallets(network.key);
          if (funded[network.key] === refund) break;
          await fund(config.dataDir, network, { refund, gas, treasury });
          funded[network.key] = refund;
          writeSecretFile(file, `${JSON.stringify(funded, null, 2)}\n`);
          break;
        } catch (error) {
          if (!(error instanceof Fault)) throw error;
          if (!isWarned && error.kind === 'permanent')
            log.warn({ code: error.code, network: network.key }, error.message);
          isWarned = true;
          await clock.sleep(RETRY_MS, signal);
        }
      }
    }
  } finally {
    await signer.close();
  }
}

type Wallets = Readonly<{ refund: string; gas: string; treasury: string }>;

async function fund(dataDir: string, { name, family, tokens }: NetworkConfig, wallets: Wallets): Promise<void> {
  const { address, spendRules } = chains[family];
  const coins = COINS * pow10(spendRules.nativeDecimals);
  for (const key of [wallets.refund, wallets.gas]) await fundInSandbox(dataDir, name, address.format(key), coins);
  for (const { symbol, decimals } of tokens) {
    await payInSandbox(dataDir, name, { to: address.format(wallets.refund), symbol, units: TOKENS * pow10(decimals) });
    // A treasury that has held the token before is cheaper to sweep to, and on some chains the only one that can be.
    await payInSandbox(dataDir, name, { to: address.format(wallets.treasury), symbol, units: 1n });
  }
}
