import { defineConfig } from 'vitest/config'
import { findObstacle } from './test/kubernetes/support/kubernetes-programs.ts'
import { isThorough } from './test/support/thorough.ts'
import { gatewaySources, testSettings } from './test/support/test-settings.ts'

const needsClients = ['test/clients/**/*.test.ts']
const needsKubernetes = ['test/kubernetes/**/*.test.ts']
/** Conformance tests that add little to those that always run. */
const onlyThorough = isThorough ? [] : ['test/conformance/once/**']

/** Suites about requests and responses; `test/gateway/support/servers.ts` is the table of the servers. */
const ofEveryServer = [
  'test/attacks/**/*.test.ts',
  'test/gateway/downstream/*.test.ts',
  'test/differential/*.test.ts',
  'test/conformance/behind-the-gateway.test.ts',
]
/** Suites of what HTTP/1.1 alone has: its framing, pipelined requests, and a connection for each active request. */
const ofHttp1 = [
  'test/attacks/head/a-request-smuggled-behind-a-refused-one.test.ts',
  'test/attacks/head/content-length-and-transfer-encoding.test.ts',
  'test/attacks/head/credentials-listed-in-connection.test.ts',
  'test/attacks/resources/too-many-*.test.ts',
  'test/differential/*.test.ts',
  'test/gateway/downstream/hop-by-hop-headers.test.ts',
  'test/gateway/downstream/pipelined-requests.test.ts',
  'test/gateway/downstream/http-version-and-header-limits.test.ts',
]
/** Suites of what a server itself does: the short form runs only these over each server. */
const contract = [
  'test/attacks/head/*.test.ts',
  'test/attacks/{batches/a-table-hidden-in-a-batch,body/duplicate-json-keys,ids/an-id-decoded-twice}.test.ts',
  'test/attacks/{browsers/requests-of-other-sites,identity/{repeated-credentials,forged-client-certificates},resources/an-unread-response}.test.ts',
  'test/gateway/downstream/{clients-that,context,error-,blob-reads,graceful,hop-by-hop,http-version,pipelined,request-ids,streamed}*.test.ts',
]

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
  resolve: { alias: gatewaySources },
  test: {
    // Without Kubernetes on this machine, npm run test:kubernetes has nothing to do.
    passWithNoTests: isKubernetesWanted && kubernetesObstacle !== undefined,
    ...testSettings,
    projects: [
      {
        extends: true,
        test: {
          name: 'main',
          include: ['test/**/*.test.ts'],
          exclude: [...needsClients, ...needsKubernetes, ...onlyThorough],
        },
      },
      {
        extends: true,
        test: {
          name: 'HTTP/1.1 by node',
          env: { SERVER: 'HTTP/1.1 by node' },
          include: isThorough ? ofEveryServer : contract,
        },
      },
      {
        extends: true,
        test: {
          name: 'HTTP/2',
          env: { SERVER: 'HTTP/2' },
          include: isThorough ? ofEveryServer : contract,
          exclude: ofHttp1,
        },
      },
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
    ],
  },
})
