/** `store set`: the settings of a store, and the operator's decision whether it may work. */
import { decideStore, storeDecisions } from '../../src/acts/store-decisions.ts';
import { setStore } from '../../src/acts/stores.ts';
import { commandOf } from './act-command.ts';
import { type Command, textOption, usage } from './command.ts';

const settings = commandOf(setStore);
const decision = commandOf(decideStore);

export const storeSet: Command = {
  ...settings,
  options: {
    ...settings.options,
    decide: { choices: storeDecisions, help: `${decideStore.summary} Alone, without settings.` },
  },
  async run(input, installation) {
    const decided = textOption(input, 'decide');
    if (decided === undefined) return settings.run(input, installation);
    const [store] = input.args;
    if (store === undefined) throw usage('--decide: name the store');
    return decision.run({ ...input, args: [store, decided] }, installation);
  },
};
