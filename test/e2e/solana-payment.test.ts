import { test } from 'uvu';
import { paymentConforms } from '../conformance/flow.ts';
import { openSolanaFlow } from './solana.ts';

const { bench } = await openSolanaFlow(10);
test.after(() => bench.close());
paymentConforms(bench);
