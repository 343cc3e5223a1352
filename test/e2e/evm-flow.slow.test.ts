/** The long flow suite on EVM. */
import { test } from 'uvu';
import { flowConforms } from '../conformance/flow.ts';
import { openEvmFlow } from './evm.ts';

const bench = await openEvmFlow();
test.after(() => bench.close());
flowConforms(bench);
