import { test } from 'uvu';
import { paymentConforms } from '../conformance/flow.ts';
import { openEvmFlow } from './evm.ts';

const bench = await openEvmFlow();
test.after(() => bench.close());
paymentConforms(bench);
