/**
 * Every page of the dashboard that needs somebody to be signed in.
 */
import type { DashboardDeps } from './deps.ts';
import type { Page } from './page.ts';
import { accountPages } from './pages/account.ts';
import { alarmPages } from './pages/alarms.ts';
import { auditPage } from './pages/audit.ts';
import { bookPage } from './pages/books.ts';
import { developerPages } from './pages/developers.ts';
import { moneyOutPages } from './pages/money-out.ts';
import { operatorPage } from './pages/operator.ts';
import { overviewPage } from './pages/overview.ts';
import { paymentPages } from './pages/payment.ts';
import { paymentsPages } from './pages/payments.ts';
import { refundsPages } from './pages/refunds.ts';
import { storePages } from './pages/store.ts';
import { operatorStorePages } from './pages/stores.ts';
import { webhooksPages } from './pages/webhooks.ts';

/** Returns the pages. Each says what it needs; a test tries every page as everybody. */
export function dashboardPages(deps: DashboardDeps): readonly Page[] {
  return [
    ...accountPages(deps),
    overviewPage(deps),
    ...paymentsPages(deps),
    ...paymentPages(deps),
    ...refundsPages(deps),
    bookPage(deps),
    ...webhooksPages(deps),
    ...developerPages(deps),
    ...storePages(deps),
    operatorPage(deps),
    auditPage(deps),
    ...operatorStorePages(deps),
    ...moneyOutPages(deps),
    ...alarmPages(deps),
  ];
}
