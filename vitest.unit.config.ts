import { defineConfig } from 'vitest/config'
import { gatewaySources, testSettings } from './test/support/test-settings.ts'

/** Tests without sockets and processes (`npm run test:unit`), which `npm test` runs with all others. */
export default defineConfig({
  resolve: { alias: gatewaySources },
  test: {
    ...testSettings,
    // These tests wait for nothing.
    maxWorkers: 2,
    setupFiles: [testSettings.setupFiles, './test/support/no-sockets.ts'],
    include: [
      'test/{catalog-api,config,docs}/**/*.test.ts',
      'test/audit/{records,verify}/**/*.test.ts',
      'test/gateway/json/*.test.ts',
      'test/http1/codec/*.test.ts',
      'test/http1/server/{lingering-close,request-heads,request-queue,split-requests}.test.ts',
      'test/identity/api-keys/*.test.ts',
      'test/lib/{arrow,async,fs,http,time}/*.test.ts',
      'test/gateway/routing/forwarded-for.test.ts',
      'test/limits/{*,overload/*,shared/shared-buckets}.test.ts',
      'test/observability/metrics/duration-histogram.test.ts',
      'test/policy/{analysis,conditions,engine,language,testing,visibility}/**/*.test.ts',
      'test/policy/source/{combine-sources,policy-folder}.test.ts',
    ],
    exclude: [
      'test/docs/{getting-started-page,operations-page,personal-data-recipe,readme,site}.test.ts',
      'test/limits/request-limits.test.ts',
      'test/limits/overload/load-shedder.test.ts',
      // Thousands of generated cases.
      'test/gateway/json/json-readers-agree.test.ts',
      'test/policy/engine/decisions-match-oracle.test.ts',
    ],
  },
})
