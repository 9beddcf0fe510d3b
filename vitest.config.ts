import { defineConfig } from 'vitest/config'
import { findObstacle } from './test/kubernetes/support/kubernetes-programs.ts'
import { compiledSources } from './test/support/compiled-sources.ts'
import { isThorough } from './test/support/thorough.ts'
import { filesWithLongForm, longFiles } from './test/support/long-form.ts'
import { gatewaySources, testSettings } from './test/support/test-settings.ts'

const needsClients = ['test/clients/**/*.test.ts']
const needsKubernetes = ['test/kubernetes/**/*.test.ts']
const needsMore = [...needsClients, ...needsKubernetes]

const hasClients = process.env['CLIENTS'] === '1'
if (!hasClients) {
  console.warn('SKIPPED: the tests with clients of other projects, as they are npm run test:clients.')
}

const isKubernetesWanted = process.env['KUBERNETES'] === '1'
const kubernetesObstacle = isKubernetesWanted ? findObstacle() : 'they are npm run test:kubernetes'
if (kubernetesObstacle !== undefined) {
  console.warn(`SKIPPED: the tests in Kubernetes, as ${kubernetesObstacle}.`)
}

// A mutant may be one that only a long file detects.
const leftOut = isThorough || process.env['MUTANTS'] === '1' ? [] : longFiles['.']

export default defineConfig({
  plugins: [compiledSources()],
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
          include: isThorough ? [...filesWithLongForm('.'), ...longFiles['.']] : ['test/**/*.test.ts'],
          exclude: [...needsMore, ...leftOut],
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
                // Controllers create pods slowly.
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
