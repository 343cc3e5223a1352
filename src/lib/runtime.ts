/**
 * Ends a process whose Node is too old. Each program that a person or a service starts imports this module before any
 * other: on such a Node, better-sqlite3 ends in a crash instead of an error.
 */

/** The oldest major version of Node with all that better-sqlite3 13 needs (its package.json, "engines"). */
const NODE_MAJOR_MIN = 22;
const EXIT_CANNOT_START = 2;

if (Number.parseInt(process.versions.node, 10) < NODE_MAJOR_MIN) {
  process.stderr.write(
    `quayside: this is Node ${process.versions.node}, and Quayside needs Node ${NODE_MAJOR_MIN} or later: ` +
      'install Node 24 from https://nodejs.org and start again.\n',
  );
  process.exit(EXIT_CANNOT_START);
}
