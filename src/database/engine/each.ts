/** Work on rows one after the other, in their order, for bodies that write. */

/** Returns what `work` makes of each row. */
export async function mapInOrder<Row, Made>(
  rows: readonly Row[],
  work: (row: Row, at: number) => Promise<Made>,
): Promise<Made[]> {
  const made: Made[] = [];
  for (const [at, row] of rows.entries()) made.push(await work(row, at));
  return made;
}

/** Returns the rows for which `work` says yes. */
export async function filterInOrder<Row>(rows: readonly Row[], work: (row: Row) => Promise<boolean>): Promise<Row[]> {
  const kept: Row[] = [];
  for (const row of rows) if (await work(row)) kept.push(row);
  return kept;
}
