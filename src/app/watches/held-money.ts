/**
 * Watches held money: confirmed money that counts for nothing until an operator decides.
 * @module
 */
import { openPar } from '../../core/held-money.ts';
import { formatUnits, MINOR_DECIMALS, PAR_DECIMALS } from '../../core/money.ts';
import type { HeldMoneyDatabase } from '../../database/held-money.ts';
import type { Watch } from './watchdog.ts';

/** More are not counted. */
const COUNTED_MAX = 100;

export function watchHeldMoney(database: Pick<HeldMoneyDatabase, 'listHeldMoney'>): Watch {
  return {
    what: 'held money',
    scopes: ['held'],
    async look() {
      const open = await database.listHeldMoney({ state: 'open', limit: COUNTED_MAX });
      const [newest] = open;
      if (!newest) return [];
      const { kind, currency, sessionId } = newest;
      const amount = `${formatUnits(openPar(newest), PAR_DECIMALS, MINOR_DECIMALS)} ${currency}`;
      const count = open.length < COUNTED_MAX ? `${open.length}` : `${COUNTED_MAX} or more`;
      const held = open.length === 1 ? '1 amount is held' : `${count} amounts are held`;
      const message = `${held} until somebody decides, the newest is ${amount} (${kind}) of session ${sessionId}`;
      return [{ rule: 'money_held', subject: '', network: null, message }];
    },
  };
}
