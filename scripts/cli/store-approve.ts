/**
 * Approves or refuses a store that a merchant has created in the dashboard.
 * @module
 */
import { permanent } from '../../src/core/fault.ts';
import { type Command, dryRunOption, moment, operatorAct, reasonOption, requiredReason, usage } from './command.ts';
import { storeJson, unknownStore } from './store.ts';

export const storeApprove: Command = {
  name: 'store approve',
  args: ['store'],
  summary: 'Approve a store that a merchant has created in the dashboard: its keys work from now on.',
  options: { reason: reasonOption, 'dry-run': dryRunOption },
  notes: ['`quayside store list` shows what waits. One that was refused can be approved too.'],
  async run(input, { database, clock }) {
    const id = input.args[0] ?? '';
    const isDryRun = input.options['dry-run'] === true;
    const done = await database.approveStore(id, operatorAct(storeApprove, input, clock), isDryRun);
    if (!done) throw unknownStore(id);
    const { store, hasChanged } = done;
    return {
      json: { ...storeJson(store), changed: hasChanged, dry_run: isDryRun },
      lines: [
        hasChanged
          ? `store ${id} (${store.name}) ${isDryRun ? 'would be' : 'is'} approved`
          : `store ${id} has been approved already`,
      ],
    };
  },
};

export const storeRefuse: Command = {
  name: 'store refuse',
  args: ['store'],
  summary: 'Refuse a store that a merchant has created in the dashboard: its owner sees the reason.',
  options: { reason: requiredReason, 'dry-run': dryRunOption },
  notes: ['It gets no keys. `quayside store approve` ends the refusal; an approved store is suspended instead.'],
  async run(input, { database, clock }) {
    const act = operatorAct(storeRefuse, input, clock);
    if (act.reason === null)
      throw usage('--reason is missing: the owner of the store and the audit log see the reason');
    const id = input.args[0] ?? '';
    const isDryRun = input.options['dry-run'] === true;
    const done = await database.refuseStore(id, act, isDryRun);
    if (!done) throw unknownStore(id);
    const { store, outcome } = done;
    if (outcome === 'approved')
      throw permanent(
        'store_approved',
        `store ${id} is approved: \`quayside store suspend ${id} --reason …\` stops it`,
      );
    const since = `${moment(store.refusal?.atMs ?? null)} because ${store.refusal?.because}`;
    return {
      json: { ...storeJson(store), changed: outcome === 'refused', dry_run: isDryRun },
      lines: [
        outcome === 'refused'
          ? `store ${id} (${store.name}) ${isDryRun ? 'would be' : 'is'} refused`
          : `store ${id} has been refused since ${since}`,
      ],
    };
  },
};
