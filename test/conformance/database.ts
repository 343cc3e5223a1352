/**
 * The contract of the database port as a test: `src/database/database.ts`, command by command.
 */
import { adoptionConforms } from './database/adoption.ts';
import { booksConform } from './database/books.ts';
import { creationConforms } from './database/creation.ts';
import { dustConforms } from './database/dust.ts';
import { endpointsConform, quietEndpointsConform } from './database/endpoints.ts';
import { freezesConform } from './database/freezes.ts';
import { heldMoneyConforms } from './database/held-money.ts';
import { heldReturnsConform } from './database/held-returns.ts';
import { historiesConform } from './database/histories.ts';
import { cancelsConform, expiryConforms } from './database/lifetimes.ts';
import { lookupsConform } from './database/lookups.ts';
import { merchantsConform } from './database/merchants.ts';
import { operationsConform } from './database/operations.ts';
import { outgoingConforms } from './database/outgoing.ts';
import { paymentsConform } from './database/payments.ts';
import { payoutExitsConform } from './database/payout-exits.ts';
import { attemptsConform, payoutsConform } from './database/payouts.ts';
import type { MakePlace } from './database/place.ts';
import { poolsConform } from './database/pools.ts';
import { recoveryConforms } from './database/recovery.ts';
import { reorgsConform } from './database/reorgs.ts';
import { sweepsConform } from './database/sweeps.ts';
import { webhookSecretsConform } from './database/webhook-secrets.ts';
import { resendsConform, webhooksConform } from './database/webhooks.ts';

/** @param makePlace makes an empty database, and removes it with all its data when it is closed */
export function storeConforms(makePlace: MakePlace): void {
  merchantsConform(makePlace);
  poolsConform(makePlace);
  creationConforms(makePlace);
  paymentsConform(makePlace);
  reorgsConform(makePlace);
  recoveryConforms(makePlace);
  dustConforms(makePlace);
  expiryConforms(makePlace);
  cancelsConform(makePlace);
  heldMoneyConforms(makePlace);
  heldReturnsConform(makePlace);
  webhooksConform(makePlace);
  resendsConform(makePlace);
  webhookSecretsConform(makePlace);
  endpointsConform(makePlace);
  quietEndpointsConform(makePlace);
  lookupsConform(makePlace);
  booksConform(makePlace);
  payoutsConform(makePlace);
  payoutExitsConform(makePlace);
  attemptsConform(makePlace);
  adoptionConforms(makePlace);
  freezesConform(makePlace);
  outgoingConforms(makePlace);
  sweepsConform(makePlace);
  operationsConform(makePlace);
  historiesConform(makePlace);
}
