import { defineConfig } from 'vitest/config'
import { findPostgres } from './test/backend/postgres/find-postgres.ts'
import { credentials } from './test/backend/s3/credentials.ts'
import { hasCeph } from './test/backend/s3/find-ceph.ts'
import { isThorough } from './test/support/thorough.ts'

const needsPostgres = ['test/backend/postgres/**/*.test.ts']
const needsCeph = ['test/backend/s3/**/*.test.ts']
const needsClients = ['test/clients/**/*.test.ts']
/** Conformance tests that add little to those that always run. */
const onlyThorough = isThorough
  ? []
  : ['test/conformance/once/**', 'test/conformance/bundled-catalog.test.ts']
const withEveryStore = isThorough
  ? ['test/backend/{database,http,rows,startup,tables,versions}/**/*.test.ts', 'test/conformance/*.test.ts']
  : ['test/conformance/bundled-catalog.test.ts']

const hasPostgres = findPostgres() !== undefined
if (!hasPostgres) {
  console.warn('SKIPPED: the tests of the catalog on PostgreSQL, as there is no PostgreSQL on this machine.')
}

const hasObjectStore = isThorough && hasCeph()
if (!hasObjectStore) {
  const reason = isThorough ? 'there is no Ceph on this machine' : 'they are part of npm run test:thorough'
  console.warn(`SKIPPED: the tests of tables in an object store, as ${reason}.`)
}

const hasClients = process.env['CLIENTS'] === '1'
if (!hasClients) {
  console.warn('SKIPPED: the tests with clients of other projects, as they are npm run test:clients.')
}

export default defineConfig({
  test: {
    // Logs of long runs show failures only.
    reporters: process.stdout.isTTY ? ['default'] : ['dot'],
    // Real servers, files and engines are slow on a busy machine.
    testTimeout: isThorough ? 300_000 : 60_000,
    hookTimeout: 60_000,
    // Output of passing tests and backtraces of the engine for invalid input would hide failures.
    silent: 'passed-only',
    env: { RUST_BACKTRACE: '0' },
    setupFiles: './test/support/seeded-properties.ts',
    // Loading the sources for every file took most of the time. Test files must not change shared state.
    isolate: false,
    // Most tests wait for processes, disks and clients, so there are more workers than cores.
    maxWorkers: 3,
    projects: [
      {
        extends: true,
        test: {
          name: 'main',
          include: ['test/**/*.test.ts'],
          exclude: [...needsPostgres, ...needsCeph, ...needsClients, ...onlyThorough],
        },
      },
      ...(hasPostgres
        ? [
            {
              extends: true as const,
              test: {
                name: 'postgres',
                include: [...withEveryStore, ...needsPostgres],
                globalSetup: './test/backend/postgres/private-postgres.ts',
              },
            },
          ]
        : []),
      ...(hasClients
        ? [
            {
              extends: true as const,
              test: {
                name: 'clients',
                include: needsClients,
                // A client starts slowly, and runs a whole scenario in one test.
                testTimeout: 240_000,
                globalSetup: './test/clients/install-clients.ts',
              },
            },
          ]
        : []),
      ...(hasObjectStore
        ? [
            {
              extends: true as const,
              test: {
                name: 's3',
                include: needsCeph,
                env: credentials,
                globalSetup: './test/backend/s3/private-ceph.ts',
              },
            },
          ]
        : []),
    ],
  },
})
