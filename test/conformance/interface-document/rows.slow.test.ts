/**
 * Every row of the interface document against one `npm start`: `npm run conformance`. With `--write`, the run also
 * writes `docs/reference/conformance.md`.
 */
import { test } from 'uvu';
import { runRows } from './run.ts';
import { sections } from './sections.ts';

runRows(test, sections);
test.run();
