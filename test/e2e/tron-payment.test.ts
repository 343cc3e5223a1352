import { test } from 'uvu';
import { paymentConforms } from '../conformance/flow.ts';
import { openTronFlow } from './tron.ts';

const { bench } = await openTronFlow();
test.after(() => bench.close());
paymentConforms(bench);
