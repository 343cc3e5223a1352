/**
 * The examples of the reference. A test checks each one against its schema.
 */
const sessionId = 'cs_01kaj8xq2m7v5c9t3w6e1r4y0p';
const payerUrl = `https://pay.example/pay/${sessionId}?k=5f0c7e1b9a3d48260c9be17f4d2a6813`;
const address = '0x52908400098527886E0F7030069857D2E4169EE7';
const createdAtS = 1_795_000_000;

export const exampleSessionBody = {
  amount: 10_50,
  currency: 'EUR',
  order_id: 'order-1001',
  line_items: [
    {
      price_data: { currency: 'EUR', unit_amount: 4_50, product_data: { name: 'Coffee, 1 kg' } },
      quantity: 2,
    },
  ],
  shipping_amount: 1_50,
  success_url: 'https://shop.example/thanks',
  cancel_url: 'https://shop.example/cart',
  metadata: { cart: 'c-77' },
  expires_in: 1800,
};

export const exampleSession = {
  id: sessionId,
  amount_total: 10_50,
  currency: 'EUR',
  payment_status: 'pending',
  created: createdAtS,
  expires_at: createdAtS + 1800,
  url: `https://pay.example/pay/${sessionId}`,
  payer_url: payerUrl,
  line_items: exampleSessionBody.line_items,
  shipping_amount: 1_50,
  exchange_rate: '1.08340',
  target_currency: 'USDT',
  target_amount_total: 11_38,
  rate_locked_at: createdAtS,
  metadata: { order_id: 'order-1001', cart: 'c-77' },
  payment_options: [
    {
      network: 'example',
      currency: 'USDT',
      address,
      amount: '11.38',
      confirmations_required: 12,
      qr_code_data: address,
      deep_link: `wallet:pay?to=${address}&amount=11.38`,
    },
  ],
  payments: [
    {
      network: 'example',
      currency: 'USDT',
      amount: '11.38',
      transaction_hash: '0x88df016429689c079f3b2f6ad39fa052532c56795b733da78a91ebe6a713944b',
      confirmations: 3,
      status: 'seen',
    },
  ],
  payments_total: 1,
  underpaid: false,
  overpaid: false,
  paid_late: false,
};

export const exampleQuoteBody = { amount: 10_50, currency: 'EUR' };

export const exampleQuote = {
  object: 'quote',
  amount_total: 10_50,
  currency: 'EUR',
  exchange_rate: '1.08340',
  target_currency: 'USDT',
  target_amount_total: 11_38,
  quoted_at: createdAtS,
  options: [{ network: 'example', currency: 'USDT', amount: '11.38', confirmations_required: 12 }],
};

export const exampleAccount = {
  object: 'account',
  merchant_id: 'mer_01kaj8w05x9s2e7n4r8t1c6v3b',
  name: 'Coffee shop',
  mode: 'test',
  scopes: ['sessions:read', 'sessions:write', 'refunds:read', 'webhooks:write'],
  settlement_currency: 'USDT',
  currencies: ['USD', 'USDT', 'USDC', 'EUR', 'JPY'],
  networks: [
    { network: 'example', title: 'Example', currencies: ['USDT', 'USDC'], amount_min: '0.00', available: true },
  ],
  limits: {
    requests_per_second: 100,
    refund_daily: '10000.00',
    refund_automatic: '1000.00',
    refund_window: 15_552_000,
    webhook_endpoints: 20,
  },
};

export const exampleEndpointBody = {
  url: 'https://shop.example/webhooks',
  extended_events: ['payment.detected'],
};

export const exampleEndpoint = {
  object: 'webhook_endpoint',
  id: 'we_01kaj8xr4n6s2d8f0g3h5j7k9m',
  url: exampleEndpointBody.url,
  extended_events: exampleEndpointBody.extended_events,
  enabled: true,
  created_at: createdAtS,
};

export const exampleQuickStartBody = {
  order_id: 'order-1002',
  amount: { value: '10.50', currency: 'USD' },
  description: 'Coffee',
  success_url: 'https://shop.example/thanks',
  cancel_url: 'https://shop.example/cart',
  webhook_url: 'https://shop.example/webhooks',
};

export const exampleQuickStartAnswer = {
  base: { code: 0, message: 'success' },
  session: {
    session_id: sessionId,
    merchant_id: 'mer_01kaj8w0',
    order_id: 'order-1002',
    amount: { value: '10.50', currency: 'USD' },
    status: 'PENDING',
    payment_url: `https://pay.example/pay/${sessionId}`,
    payer_url: payerUrl,
    example_address: address,
    qr_code_data: address,
    created_at: createdAtS,
    expires_at: createdAtS + 1800,
  },
};

export const exampleRefundBody = {
  order_id: sessionId,
  refund_id: 'refund-77',
  amount: '4.50',
  currency: 'USDT',
  reason: 'requested_by_customer',
  metadata: { ticket: 4711 },
};

export const exampleCreatedRefund = {
  refund_id: 'refund-77',
  session_id: sessionId,
  order_id: 'order-1001',
  amount: '4.50',
  currency: 'USDT',
  status: 'pending',
  reason: 'requested_by_customer',
  created_at: createdAtS + 3600,
  metadata: { ticket: 4711, claim_url: 'https://pay.example/refund/6b1f7c0e2a944d3b8f5a0c9d7e21b346' },
};

export const exampleRefund = {
  ...exampleCreatedRefund,
  destination: { network: 'example', address },
  destination_source: 'claim_link' as const,
  status: 'completed',
  transaction_hash: '0x3c9e1f7a2b5d8064e1f3a7c9b2d4f6081a3c5e7f9b0d2c4e6f8a1b3d5c7e9f02',
  receipt_number: 'RF-2026-00000001',
  processed_at: createdAtS + 3790,
};
