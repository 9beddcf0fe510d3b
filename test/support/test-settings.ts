import { fileURLToPath } from 'node:url'
import { RunReport } from './run-report.ts'
import { isThorough } from './thorough.ts'

const setup = fileURLToPath(new URL('set-up-file.ts', import.meta.url))

/** Settings of vitest for the tests of all packages. */
export const testSettings = {
  // Logs of long runs show failures only.
  reporters: [process.stdout.isTTY ? 'default' : 'dot', new RunReport()],
  // Real servers, files and engines are slow on a busy machine.
  testTimeout: isThorough ? 300_000 : 60_000,
  hookTimeout: 60_000,
  // Output of passing tests and backtraces of the engine for invalid input would hide failures.
  silent: 'passed-only' as const,
  env: { RUST_BACKTRACE: '0' },
  setupFiles: setup,
  // Loading the sources for every file took most of the time. Test files must not change shared state.
  isolate: false,
  // Most tests wait for processes, disks and clients, so there are more workers than cores; the long form also measures.
  maxWorkers: isThorough ? 3 : 5,
}

/** What the catalog imports of the gateway's package: its sources, which tests import, too. */
export const gatewaySources = ['arrow', 'catalog-api', 'commands', 'lib', 'outbound', 'settings'].map(
  (folder) => ({
    find: `catalog-gateway/${folder}`,
    replacement: fileURLToPath(new URL(`../../src/${folder}/index.ts`, import.meta.url)),
  }),
)
