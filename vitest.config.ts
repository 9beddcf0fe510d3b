import { defineConfig } from 'vitest/config'
import { findPostgres } from './test/backend/postgres/find-postgres.ts'
import { credentials } from './test/backend/s3/credentials.ts'
import { hasCeph } from './test/backend/s3/find-ceph.ts'
import { findObstacle } from './test/kubernetes/support/kubernetes-programs.ts'
import { isThorough } from './test/support/thorough.ts'

const needsPostgres = ['test/backend/postgres/**/*.test.ts']
const needsCeph = ['test/backend/s3/**/*.test.ts']
const needsClients = ['test/clients/**/*.test.ts']
const needsKubernetes = ['test/kubernetes/**/*.test.ts']
/** Conformance tests that add little to those that always run. */
const onlyThorough = isThorough
  ? []
  : ['test/conformance/once/**', 'test/conformance/bundled-catalog.test.ts']
const withEveryStore = isThorough
  ? [
      'test/backend/{database,http,jobs,rows,startup,tables,versions,views}/**/*.test.ts',
      'test/conformance/*.test.ts',
    ]
  : ['test/conformance/bundled-catalog.test.ts']

/** Suites about requests and responses; `test/gateway/support/servers.ts` is the table of the servers. */
const ofEveryServer = [
  'test/attacks/*.test.ts',
  'test/gateway/downstream/*.test.ts',
  'test/differential/*.test.ts',
  'test/conformance/behind-the-gateway.test.ts',
]
/** Suites of what HTTP/1.1 alone has: its framing, pipelined requests, and a connection for each active request. */
const ofHttp1 = [
  'test/attacks/a-request-smuggled-behind-a-refused-one.test.ts',
  'test/attacks/content-length-and-transfer-encoding.test.ts',
  'test/attacks/credentials-listed-in-connection.test.ts',
  'test/attacks/too-many-*.test.ts',
  'test/differential/*.test.ts',
  'test/gateway/downstream/hop-by-hop-headers.test.ts',
  'test/gateway/downstream/pipelined-requests.test.ts',
  'test/gateway/downstream/http-version-and-header-limits.test.ts',
]
/** Of these suites, those that take little time. */
const fastOfHttp1 = [
  'test/attacks/{a-request-smuggled,an-ambiguous-request,content-length,credentials-listed}*.test.ts',
  'test/attacks/{malformed-request-targets,repeated-credentials,an-unread-response}.test.ts',
  'test/gateway/downstream/{clients-that,error-,graceful,hop-by-hop,http-version,pipelined}*.test.ts',
]
const fastOfHttp2 = [
  'test/attacks/{a-backslash,a-branch,a-fact,a-location,a-table,ambiguous-json,an-id,credentials-}*.test.ts',
  'test/attacks/{dot-segments,duplicate-json,forged,malformed,repeated,target-,underscores}*.test.ts',
  'test/gateway/downstream/{clients-that,context,error-,graceful,request-ids,streamed}*.test.ts',
]

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

const isKubernetesWanted = process.env['KUBERNETES'] === '1'
const kubernetesObstacle = isKubernetesWanted ? findObstacle() : 'they are npm run test:kubernetes'
if (kubernetesObstacle !== undefined) {
  console.warn(`SKIPPED: the tests in Kubernetes, as ${kubernetesObstacle}.`)
}

export default defineConfig({
  test: {
    // Without Kubernetes on this machine, npm run test:kubernetes has nothing to do.
    passWithNoTests: isKubernetesWanted && kubernetesObstacle !== undefined,
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
          exclude: [...needsPostgres, ...needsCeph, ...needsClients, ...needsKubernetes, ...onlyThorough],
        },
      },
      {
        extends: true,
        test: {
          name: 'HTTP/1.1 by node',
          env: { SERVER: 'HTTP/1.1 by node' },
          include: isThorough ? ofEveryServer : fastOfHttp1,
        },
      },
      {
        extends: true,
        test: {
          name: 'HTTP/2',
          env: { SERVER: 'HTTP/2' },
          include: isThorough ? ofEveryServer : fastOfHttp2,
          exclude: ofHttp1,
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
      ...(isKubernetesWanted
        ? [
            {
              extends: true as const,
              test: {
                name: 'kubernetes',
                include: kubernetesObstacle === undefined ? needsKubernetes : [],
                // Pods start and end slowly: each takes its time to drain.
                testTimeout: 400_000,
                globalSetup:
                  kubernetesObstacle === undefined ? './test/kubernetes/support/global-setup.ts' : [],
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
