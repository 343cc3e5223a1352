/**
 * What `doctor` checks of the running installation, by what its database holds: networks, pools, rates, webhooks, money
 * out and alarms.
 */
import { WHILE_EMPTY } from '../../src/addresses/pool-keeper.ts';
import { networkOfEachPool, readPool } from '../../src/addresses/pool-level.ts';
import { readBackupReport } from '../../src/app/backup/report.ts';
import { safetyWarnings } from '../../src/app/safety-warnings.ts';
import { readServerFile } from '../../src/app/server-file.ts';
import { PROVED_AGE_DAYS_MAX } from '../../src/app/watches/backup.ts';
import { Fault } from '../../src/core/fault.ts';
import type { Reason as EngineReason } from '../../src/core/reasons.ts';
import type { NetworkKey } from '../../src/core/transfer.ts';
import { unreadMinutes } from '../../src/core/wallet-books.ts';
import { isInformed, type NoticeTarget } from '../../src/database/notices.ts';
import { endOf } from '../../src/database/payouts/holds.ts';
import { isSenderSilent } from '../../src/database/sender-report.ts';
import { DAY_MS } from '../../src/lib/clock.ts';
import { type Finding, failure, ok, warning } from '../nodes/finding.ts';
import { type Installation, moment } from './command.ts';
import { freezeText } from './payout-freeze.ts';
import { networkLink, readPlaces } from './show-network.ts';
import { withSigner } from './signer-freeze.ts';
import { importMore, rateLine, readRates } from './status.ts';

export async function installationFindings(installation: Installation, isFull: boolean): Promise<Finding[]> {
  const parts = await Promise.all([
    serverFindings(installation),
    networkFindings(installation),
    poolFindings(installation),
    webhookFindings(installation),
    payoutFindings(installation),
    signerFindings(installation),
    otherFindings(installation),
  ]);
  return [...parts.flat(), ...(isFull ? await ledgerFindings(installation) : [])];
}

async function serverFindings({ config }: Installation): Promise<Finding[]> {
  const running = readServerFile(config.dataDir);
  const start = 'start it: `npm start`';
  if (!running) return [failure('server', 'the server is not running, so there are no sessions and no rates', start)];
  const sources = await readRates(running.metrics_url);
  const server = ok('server', `${running.base_url} (pid ${running.pid})`);
  if (!sources) return [server, warning('rates', 'the server does not say which rates it has', start)];
  const fresh = sources.filter((one) => one.fresh);
  if (sources.length === 0)
    return [server, ok('rates', 'no source is configured; only dollars and stablecoins are priced')];
  const look = 'look at `rates` in the settings, and whether this machine reaches the Internet';
  if (fresh.length === 0) {
    const none = 'no source has a fresh rate, so orders in other currencies are refused';
    return [server, failure('rates', `${none}: ${sources.map(rateLine).join('; ')}`, look)];
  }
  const stale = sources.filter((one) => !one.fresh).map((one) => warning('rates', rateLine(one), look));
  return [server, ...stale, ok('rates', `${fresh.length} of ${sources.length} sources are fresh`)];
}

async function networkFindings({ config, database, clock }: Installation): Promise<Finding[]> {
  const places = [...(await readPlaces(database, config.networks)).values()];
  return places.flatMap((place) => {
    const { mark, text, next } = networkLink(place, clock.nowMs());
    const make = mark === 'broken' ? failure : mark === 'waiting' ? warning : ok;
    const { key } = place.network;
    const gaps = place.gaps.map(({ from, to }) =>
      warning(
        'network',
        `${key}: blocks ${from} to ${to} were skipped; payments in them are not known`,
        `\`quayside network reread ${key} --from ${from} --to ${to}\`, from a node that has them`,
      ),
    );
    return [make('network', text, next), ...gaps];
  });
}

async function poolFindings({ config, database }: Installation): Promise<Finding[]> {
  const pools = await Promise.all(networkOfEachPool(config.networks).map((network) => readPool(database, network)));
  return pools.map((pool) => {
    const text = `${pool.mode} ${pool.family}: ${pool.free} addresses free, ${pool.taken} taken`;
    const next = pool.isLow
      ? importMore(pool.nextIndex)
      : 'the server derives more while it runs: start it with `npm start`, or look for `server` in its log';
    if (pool.free === 0) return failure('addresses', `${text}: ${WHILE_EMPTY}`, next);
    return pool.isLow ? warning('addresses', text, next) : ok('addresses', text);
  });
}

async function webhookFindings({ database, clock }: Installation): Promise<Finding[]> {
  const nowMs = clock.nowMs();
  const { failing, disabled, failed } = await database.deliveries.trouble(nowMs, nowMs - DAY_MS);
  const show = (id: string) => `\`quayside show ${id}\` says what is wrong`;
  const found = [
    ...failing.map(({ id, url }) => failure('webhooks', `${id} (${hostOf(url)}) accepts nothing`, show(id))),
    ...disabled.map(({ id, url }) =>
      failure(
        'webhooks',
        `${id} (${hostOf(url)}) is disabled`,
        `\`quayside webhook set ${id} --state on\` once it works again`,
      ),
    ),
    ...(failed > 0
      ? [
          warning(
            'webhooks',
            `${failed} deliveries of the last day failed for good`,
            '`quayside webhook resend --since 1d`',
          ),
        ]
      : []),
    ...(isSenderSilent(await database.sending.lastReport(), nowMs)
      ? [
          failure(
            'webhooks',
            'no process sends webhooks now',
            'start Quayside: `npm start`, or look for `webhooks` in its log',
          ),
        ]
      : []),
  ];
  return found.length > 0 ? found : [ok('webhooks', 'every endpoint accepts what it is sent')];
}

const hostOf = (url: string): string => (URL.canParse(url) ? new URL(url).host : url);

async function payoutFindings({ config, database, clock }: Installation): Promise<Finding[]> {
  const [freezes, engines, stats, balances] = await Promise.all([
    database.holds.list(),
    database.engines.list(),
    database.payouts.stats(),
    database.wallets.balances(),
  ]);
  const stuck = stats.counts.filter(({ state }) => state === 'stuck').reduce((sum, { count }) => sum + count, 0);
  const found = [
    ...freezes.map((one) =>
      failure('payouts', `money out is frozen: ${freezeText(one)}`, `find out why, then ${endOf(one)}`),
    ),
    ...engines.flatMap(({ network, reason }) => engineFinding(network, reason) ?? []),
    ...(stuck > 0 ? [failure('payouts', `${stuck} are stuck`, '`quayside payout list --state stuck` shows why')] : []),
    ...balances.flatMap(({ network, role, isFormer, units }) =>
      isFormer && Object.entries(units).some(([asset, held]) => asset !== 'native' && (held ?? 0n) > 0n)
        ? [
            warning(
              'payouts',
              `${network}: a former ${role} wallet still holds tokens`,
              '`quayside status` shows it; docs/money.md says how to empty it by hand',
            ),
          ]
        : [],
    ),
    ...balances.flatMap(({ network, role, readAtMs }) => {
      const minutes = unreadMinutes(readAtMs, clock.nowMs());
      if (minutes === null || !config.signer || !config.networks.some(({ key }) => key === network)) return [];
      const what = `the balance of a ${role} wallet was not read for ${minutes} min, so nothing compares it with the books`;
      return [warning('payouts', `${network}: ${what}`, '`quayside status` shows what keeps payouts from running')];
    }),
    ...balances.flatMap(({ network, role, low }) =>
      low.length > 0
        ? [
            warning(
              'payouts',
              `${network}: the ${role} wallet is low on ${low.join(', ')}`,
              '`quayside-signer show` has its address',
            ),
          ]
        : [],
    ),
  ];
  return found.length > 0 ? found : [ok('payouts', 'none is stopped')];
}

/** After each start, payouts wait for what is in the chain. If that takes long, the finding of the network says why. */
function engineFinding(network: NetworkKey, reason: EngineReason | null): Finding | null {
  if (!reason) return null;
  if (reason.code === 'payouts_reading') return ok('payouts', `${network}: they begin soon: ${reason.message}`);
  return warning('payouts', `${network}: payouts are stopped: ${reason.message}`, '`quayside status` shows them');
}

/** Asks the signer itself: whether it answers, which it does only when it is unlocked, and whether it is frozen. */
async function signerFindings({ config, database }: Installation): Promise<Finding[]> {
  if (!config.signer) {
    const { counts } = await database.payouts.stats();
    const open = counts.some(({ state }) => state === 'waiting' || state === 'sent' || state === 'stuck');
    return open
      ? [failure('signer', 'payouts wait, and the configuration has no `signer`', 'set one up: docs/money.md')]
      : [ok('signer', 'none is configured: this installation only receives money')];
  }
  try {
    const { freeze } = await withSigner(config.signer.dir, (signer) => signer.freezeState());
    return freeze
      ? [
          failure(
            'signer',
            `frozen by ${freeze.frozenBy}: ${freeze.reason}`,
            '`quayside-signer thaw --help` shows how an approver ends that',
          ),
        ]
      : [ok('signer', 'it answers, and is unlocked')];
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return [
      failure('signer', error.message, 'look for `signer` in the log; `quayside-signer show` looks at its folder'),
    ];
  }
}

async function otherFindings(installation: Installation): Promise<Finding[]> {
  const { config, database } = installation;
  const alarms = (await database.alarms.listOpen()).map(({ code, message }) =>
    warning('alarms', `${code}: ${message}`, 'docs/reference/alarms.md says what to do about it'),
  );
  const compared = (await database.blocks.listComparisons()).flatMap(({ network, differs, message }) =>
    differs
      ? [
          failure(
            'comparison',
            `${network}: ${message}`,
            `\`quayside network reread ${network} --from ${differs.from} --to ${differs.to}\` adds missed transfers`,
          ),
        ]
      : [],
  );
  const unsafe = safetyWarnings(config).map(({ code, message }) => warning('safety', `${code}: ${message}`));
  const isLive = config.networks.some(({ mode, sandbox }) => mode === 'live' && !sandbox);
  const backup = backupFinding(config, installation.clock.nowMs(), isLive);
  return [...alarms, ...compared, ...unsafe, backup, noticeFinding(await database.notices.listTargets(), isLive)];
}

function noticeFinding(targets: readonly NoticeTarget[], isLive: boolean): Finding {
  const proved = targets.filter(isInformed);
  const failing = proved.filter(({ failingSinceMs }) => failingSinceMs !== null);
  if (failing.length > 0) {
    const text = failing.map(({ name, lastError }) => `${name} does not get its messages: ${lastError}`).join('; ');
    return warning('notices', text, 'Alarms in the dashboard shows since when');
  }
  if (proved.length > 0) return ok('notices', `${proved.length} informed about alarms`);
  const nobody = 'nobody is informed about alarms';
  return isLive ? warning('notices', nobody, 'Alarms in the dashboard adds somebody') : ok('notices', nobody);
}

function backupFinding({ dataDir }: Installation['config'], nowMs: number, isLive: boolean): Finding {
  const { newest, proved, failure: failed } = readBackupReport(dataDir);
  const next = 'set `backup.nightly`, or run `quayside backup --prove` by a timer: docs/operate.md';
  if (failed) return warning('backup', `the scheduled backup failed at ${moment(failed.at_ms)}: ${failed.message}`);
  if (!newest) {
    const none = 'no backup was made here';
    return isLive ? warning('backup', none, next) : ok('backup', `${none}; nothing here is real money`);
  }
  const isProved = newest.made_at_ms === proved?.made_at_ms;
  const last = isProved
    ? `proved ${moment(proved.proved_at_ms)}`
    : `which was not proved${proved ? `; the newest proved one is of ${moment(proved.made_at_ms)}` : ''}`;
  const text = `the newest backup is ${newest.file} of ${moment(newest.made_at_ms)}, ${last}`;
  const isDue = !isProved || nowMs - newest.made_at_ms > PROVED_AGE_DAYS_MAX * DAY_MS;
  return isLive && isDue ? warning('backup', text, next) : ok('backup', text);
}

async function ledgerFindings({ database }: Installation): Promise<Finding[]> {
  const { entries, unbalanced, differences, overdrawn, sums } = await database.ledger.verify();
  const wrong = unbalanced.length + differences.length + overdrawn.length + sums.length;
  return wrong > 0
    ? [
        failure(
          'ledger',
          `${wrong} differences between the ledger and the facts`,
          '`quayside ledger verify` lists them',
        ),
      ]
    : [ok('ledger', `all ${entries} entries add up and match the facts`)];
}
