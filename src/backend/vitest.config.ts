import { defineConfig } from 'vitest/config'
import { filesWithLongForm, longFiles } from '../../test/support/long-form.ts'
import { gatewaySources, testSettings } from '../../test/support/test-settings.ts'
import { isThorough } from '../../test/support/thorough.ts'
import { isProvided } from '../../test/support/requirements.ts'
import { findPostgres } from './test/postgres/find-postgres.ts'
import { credentials } from './test/s3/credentials.ts'
import { hasCeph } from './test/s3/find-ceph.ts'

const needsPostgres = ['test/postgres/**/*.test.ts']
const needsCeph = ['test/s3/**/*.test.ts']
const needsMore = [...needsPostgres, ...needsCeph]
const withEveryStore = isThorough ? ['test/{conformance,jobs,rows,startup,tables,versions}/**/*.test.ts'] : []

const hasPostgres = isProvided('postgresql', () => findPostgres() !== undefined)
const hasObjectStore = isThorough && isProvided('ceph', hasCeph)

export default defineConfig({
  resolve: { alias: gatewaySources },
  test: {
    ...testSettings,
    projects: [
      {
        extends: true,
        test: {
          name: 'catalog',
          include: isThorough
            ? [...filesWithLongForm('.'), ...longFiles['src/backend']]
            : ['test/**/*.test.ts'],
          exclude: isThorough ? needsMore : [...needsMore, ...longFiles['src/backend']],
        },
      },
      ...(hasPostgres
        ? [
            {
              extends: true as const,
              test: {
                name: 'postgres',
                include: [...withEveryStore, ...needsPostgres],
                exclude: isThorough ? [] : [...longFiles['src/backend']],
                globalSetup: './test/postgres/private-postgres.ts',
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
                globalSetup: './test/s3/private-ceph.ts',
              },
            },
          ]
        : []),
    ],
  },
})
