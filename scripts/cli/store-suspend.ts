/**
 * Suspends a store and resumes it: whether its keys may create sessions and refunds.
 * @module
 */
import { type Command, dryRunOption, moment, operatorAct, reasonOption, requiredReason, usage } from './command.ts';
import { storeJson, unknownStore } from './store.ts';

/** How many refunds that wait are counted. */
const WAITING_MAX = 100;

export const storeSuspend: Command = {
  name: 'store suspend',
  args: ['store'],
  summary: 'Stop a store: its keys create no sessions and no refunds. What it has is still watched, credited and sent.',
  options: { reason: requiredReason, 'dry-run': dryRunOption },
  notes: [
    'Its refunds that are not signed yet are held until `quayside store resume`; `quayside refunds reject <id>` ends one.',
    'Payment pages of open sessions say that the shop takes no new orders.',
  ],
  async run(input, { database, clock }) {
    const act = operatorAct(storeSuspend, input, clock);
    if (act.reason === null)
      throw usage('--reason is missing: the audit log and `quayside store list` keep the reason');
    const id = input.args[0] ?? '';
    const isDryRun = input.options['dry-run'] === true;
    const done = await database.suspendStore(id, 'suspended', act, isDryRun);
    if (!done) throw unknownStore(id);
    const waiting = { storeId: id, limit: WAITING_MAX } as const;
    const pending = await database.listRefunds({ ...waiting, status: 'pending' });
    const processing = await database.listRefunds({ ...waiting, status: 'processing' });
    const count = pending.length + processing.length;
    const { suspension } = done.store;
    const since = `${moment(suspension?.atMs ?? null)} because ${suspension?.because}`;
    return {
      json: { ...storeJson(done.store), changed: done.hasChanged, refunds_waiting: count, dry_run: isDryRun },
      lines: [
        done.hasChanged
          ? `store ${id} ${isDryRun ? 'would be' : 'is'} suspended; \`quayside store resume ${id}\` ends it`
          : `store ${id} has been suspended since ${since}`,
        ...(count > 0
          ? [
              `${count} of its refunds are not paid; those that are not signed yet wait: \`quayside refunds list --store ${id}\``,
            ]
          : []),
      ],
    };
  },
};

export const storeResume: Command = {
  name: 'store resume',
  args: ['store'],
  summary: 'End the suspension of a store: its keys work as before, and its refunds go on.',
  options: { reason: reasonOption, 'dry-run': dryRunOption },
  async run(input, { database, clock }) {
    const id = input.args[0] ?? '';
    const isDryRun = input.options['dry-run'] === true;
    const done = await database.suspendStore(id, 'resumed', operatorAct(storeResume, input, clock), isDryRun);
    if (!done) throw unknownStore(id);
    const { hasChanged } = done;
    return {
      json: { ...storeJson(done.store), changed: hasChanged, dry_run: isDryRun },
      lines: [`store ${id} ${hasChanged ? `${isDryRun ? 'would be' : 'is'} resumed` : 'is not suspended'}`],
    };
  },
};
