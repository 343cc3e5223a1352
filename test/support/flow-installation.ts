/**
 * An instance with a merchant's server and shop around it.
 */
import { type FlowShop, openFlowShop } from './flow-shop.ts';
import { type Instance, startInstance } from './instance.ts';
import { startMerchantServer } from './merchant-server.ts';

export type FlowInstallation = Readonly<{ quayside: Instance; shop: FlowShop; close(): Promise<void> }>;

/** @param settings the operator's file; see `startInstance` */
export async function openFlowInstallation(settings: Readonly<Record<string, unknown>>): Promise<FlowInstallation> {
  const merchant = await startMerchantServer((response) => response.writeHead(200).end('{"received":true}'));
  const quayside = await startInstance(settings, `${merchant.origin}/hook`);
  return {
    quayside,
    shop: openFlowShop(quayside, merchant),
    async close() {
      await quayside.close();
      await merchant.close();
    },
  };
}
