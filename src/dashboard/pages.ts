/**
 * Every page of the dashboard that needs somebody to be signed in.
 */
import type { DashboardDeps } from './deps.ts';
import { createExports } from './export.ts';
import type { Page } from './page.ts';
import { accountPages } from './pages/account.ts';
import { alarmPages } from './pages/alarms.ts';
import { auditPages } from './pages/audit.ts';
import { developerPages } from './pages/developers.ts';
import { heldPages } from './pages/held.ts';
import { noticeAddPages } from './pages/notice-add.ts';
import { noticePages } from './pages/notices.ts';
import { operatorPages } from './pages/operator.ts';
import { operatorNetworkPages } from './pages/operator-network.ts';
import { operatorPayoutPages } from './pages/operator-payouts.ts';
import { operatorSettingsPage } from './pages/operator-settings.ts';
import { operatorSourcePages } from './pages/operator-sources.ts';
import { operatorStorePages } from './pages/operator-stores.ts';
import { operatorWalletPages } from './pages/operator-wallets.ts';
import { overviewPage } from './pages/overview.ts';
import { paymentPage } from './pages/payment.ts';
import { paymentChanges } from './pages/payment-changes.ts';
import { paymentsPages } from './pages/payments.ts';
import { payoutApprovalPages, refundApprovalPages } from './pages/refund-approvals.ts';
import { refundChanges } from './pages/refund-changes.ts';
import { refundPages } from './pages/refunds.ts';
import { storePages } from './pages/store.ts';
import { teamPages } from './pages/team.ts';
import { webhookChanges } from './pages/webhook-changes.ts';
import { webhookPages } from './pages/webhooks.ts';

/** Returns the pages. Each says what it needs; a test tries every page as everybody. */
export function dashboardPages(deps: DashboardDeps): readonly Page[] {
  const startExport = createExports(deps);
  return [
    ...accountPages(deps),
    overviewPage(deps),
    ...paymentsPages(deps, startExport),
    paymentPage(deps),
    ...paymentChanges(deps),
    ...refundPages(deps, startExport),
    ...refundChanges(deps),
    ...refundApprovalPages(deps),
    ...heldPages(deps),
    ...webhookPages(deps),
    ...webhookChanges(deps),
    ...developerPages(deps),
    ...storePages(deps),
    ...teamPages(deps),
    ...operatorPages(deps),
    ...auditPages(deps, startExport),
    ...operatorStorePages(deps),
    ...operatorNetworkPages(deps),
    ...operatorPayoutPages(deps),
    ...payoutApprovalPages(deps),
    ...operatorWalletPages(deps),
    ...operatorSourcePages(deps),
    operatorSettingsPage(deps),
    ...alarmPages(deps),
    ...noticePages(deps),
    ...noticeAddPages(deps),
  ];
}
