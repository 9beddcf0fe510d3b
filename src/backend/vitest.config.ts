import { defineConfig } from 'vitest/config'
import { compiledSources } from '../../test/support/compiled-sources.ts'
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

const project = (test: object) => ({ extends: true as const, test })

export default defineConfig({
  plugins: [compiledSources()],
  resolve: { alias: gatewaySources },
  test: {
    ...testSettings,
    projects: [
      project({
        name: 'catalog',
        include: isThorough
          ? [...filesWithLongForm('.'), ...longFiles['src/backend']]
          : ['test/**/*.test.ts'],
        exclude: isThorough ? needsMore : [...needsMore, ...longFiles['src/backend']],
      }),
      project({
        name: 'postgres',
        include: hasPostgres ? [...withEveryStore, ...needsPostgres] : [],
        exclude: isThorough ? [] : [...longFiles['src/backend']],
        globalSetup: hasPostgres ? './test/postgres/private-postgres.ts' : [],
      }),
      project({
        name: 's3',
        include: hasObjectStore ? needsCeph : [],
        env: credentials,
        globalSetup: hasObjectStore ? './test/s3/private-ceph.ts' : [],
      }),
    ],
  },
})
