import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Files of the package in `folder` that only the long form runs (`npm run test:thorough`), relative to it: they kill, install,
 * measure or wait, and seldom fail.
 */
export const longFiles = {
  '.': [
    'test/attacks/{batches,resources}/*-that-blocks-the-event-loop.test.ts',
    'test/attacks/resources/{a-thousand-slow-connections,a-flood-of-audit-records}.test.ts',
    'test/attacks/resources/unread-responses-that-exhaust-memory.test.ts',
    'test/attacks/upstream/credentials-in-any-response.test.ts',
    'test/audit/sinks/killed-with-undelivered-records.test.ts',
    'test/audit/log/{failing-sync,full-disk}.test.ts',
    'bench/**/*.test.ts',
    'test/commands/{unread-output,dev/stopping-dev}.test.ts',
    'test/compatibility/*.test.ts',
    'test/conformance/{once/*,a-run-drops-only-its-own,behind-the-gateway}.test.ts',
    'test/console/{accessible-pages,console-in-a-browser}.test.ts',
    'test/docs/{getting-started-page,operations-page,personal-data-recipe,site}.test.ts',
    'test/e2e/{behind-*,commits-past-*,*-under-load,outcomes-after-kills}.test.ts',
    'test/examples/{compose,embed,policies-on-pull-requests}.test.ts',
    'test/gateway/downstream/docs-page-in-a-browser.test.ts',
    'test/helm/release-passes-helm-test.test.ts',
    'test/limits/overload/overload.test.ts',
    'test/observability/{alerts,prometheus}.test.ts',
    'test/package/{installed-packages,packed-gateway}.test.ts',
  ],
  'src/backend': [
    'test/attacks/sql-that-overflows-the-stack.test.ts',
    'test/conformance/*.test.ts',
    'test/engine/{full-disk,mutated-uploads}.test.ts',
    'test/engine/query/query-memory.test.ts',
    'test/jobs/interrupted-jobs.test.ts',
    'test/postgres/replicas.test.ts',
    'test/startup/killed-process.test.ts',
    'test/versions/{interrupted,killed}-batches.test.ts',
  ],
} as const

/** The other files of a package that have a long form. Those without one are not run twice. */
export function filesWithLongForm(folder: string): readonly string[] {
  return readdirSync(join(folder, 'test'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.ts'))
    .filter((name) => readFileSync(join(folder, 'test', name), 'utf8').includes('/support/thorough.ts'))
    .map((name) => join('test', name))
}
