/** Every row of the interface document against one `npm start`: `npm run conformance`. */
import { test } from 'uvu';
import { runRows } from './run.ts';
import { sections } from './sections.ts';

runRows(test, sections);
test.run();
