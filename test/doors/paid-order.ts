/** A paid order of a door, for tests of codecs only: the program makes one from the database's rows. */
import type { DoorTerms } from '../../src/core/door.ts';
import type { PaidOrder } from '../../src/doors/success.ts';

const terms: DoorTerms = {
  money: '10.00',
  name: 'Gold',
  notifyUrl: 'https://panel.example/notify',
  returnUrl: null,
  param: null,
  type: 'alipay',
  method: null,
  spelling: 'shortest',
  algorithm: 'md5',
};

type Changes = Partial<Pick<PaidOrder, 'pid' | 'orderNo' | 'tradeNo' | 'payment'>> &
  Readonly<{ terms?: Partial<DoorTerms> }>;

export const paidDoorOrder = ({ terms: changed, ...order }: Changes): PaidOrder =>
  ({
    pid: 1001,
    orderNo: 'a1',
    tradeNo: '20261128140000123456',
    payment: {
      tx: 'ab'.repeat(32),
      address: 'TXYZopYRdj2D9XRtbG411XZZ3kM5VkAeBf',
      currency: 'USDT',
      units: 1_390_000n,
      decimals: 6,
    },
    ...order,
    terms: { ...terms, ...changed },
  }) as PaidOrder;
