/**
 * The long flow suite on a real geth: amounts, reorgs that arrive by fork choice, and outages.
 */
import { test } from 'uvu';
import { flowConforms } from '../conformance/flow.ts';
import { openEvmFlowOn } from '../e2e/evm.ts';
import { startDrivenGeth } from './driven-geth.ts';

const node = await startDrivenGeth({ chainId: 1 });
const { bench } = await openEvmFlowOn([{ name: 'ethereum', node, decimals: 6 }]);
test.after(() => bench.close());
flowConforms(bench);
