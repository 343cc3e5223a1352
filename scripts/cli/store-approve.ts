/**
 * Approves a store that a merchant has created in the dashboard.
 * @module
 */
import { becauseOption, type Command, dryRunOption, operatorAct } from './command.ts';
import { storeJson, unknownStore } from './store.ts';

export const storeApprove: Command = {
  name: 'store approve',
  args: ['store'],
  summary: 'Approve a store that a merchant has created in the dashboard: its keys work from now on.',
  options: { because: becauseOption, 'dry-run': dryRunOption },
  notes: [
    '`quayside store list` shows what waits. Leave one that you refuse as it is: without approval its keys do nothing.',
  ],
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
