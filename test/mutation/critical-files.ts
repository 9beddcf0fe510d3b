/** A source file to mutate, and the test files or folders that should detect its mutants, fast ones first. */
export interface CriticalFile {
  readonly file: string
  readonly tests: readonly string[]
}

const restrictedFilters = [
  'test/policy/restrictions/printed-filters.test.ts',
  'test/policy/restrictions/rows-of-a-caller.test.ts',
  'test/gateway/restrictions/restricted-members.test.ts',
  'test/policy/restrictions/hostile-filters.test.ts',
]
const jsonReaders = [
  'test/gateway/json/json-readers-agree.test.ts',
  'test/gateway/json/json-edits-match-model.test.ts',
  'test/attacks/body/ambiguous-json.test.ts',
  'test/gateway/body/',
  'test/gateway/authorization/descriptions-withheld-from-responses.test.ts',
]

/**
 * Files in which an error lets a forbidden request through or loses a record. Only nearby tests count: a mutant that a
 * distant test detects by chance counts as survived.
 */
export const criticalFiles: readonly CriticalFile[] = [
  { file: 'src/catalog-api/identifiers.ts', tests: ['test/catalog-api/identifiers.test.ts'] },
  ...['request-target', 'route-table', 'query-parameters'].map((name) => ({
    file: `src/catalog-api/${name}.ts`,
    tests: [
      'test/catalog-api/request-target.test.ts',
      'test/gateway/routing/canonical-targets.test.ts',
      'test/gateway/upstream/extra-operations.test.ts',
    ],
  })),
  {
    file: 'src/http1/server/request-head.ts',
    tests: [
      'test/http1/server/request-heads.test.ts',
      'test/http1/server/refused-at-once.test.ts',
      'test/http1/server/both-parsers.test.ts',
    ],
  },
  { file: 'src/http1/server/request-parser.ts', tests: ['test/http1/server/'] },
  { file: 'src/http1/codec/header-fields.ts', tests: ['test/http1/'] },
  {
    file: 'src/http1/codec/chunked-decoder.ts',
    tests: ['test/http1/codec/chunked-bodies.test.ts', 'test/http1/server/refused-at-once.test.ts'],
  },
  { file: 'src/http1/client/response-parser.ts', tests: ['test/http1/client/'] },
  {
    file: 'src/catalog-api/place-in-database.ts',
    tests: [
      'test/catalog-api/place-in-database.test.ts',
      'test/attacks/ids/a-table-of-another-database.test.ts',
    ],
  },
  {
    file: 'src/gateway/stages/match.ts',
    tests: [
      'test/gateway/routing/upstream-for-id.test.ts',
      'test/attacks/facts/a-fact-in-the-wrong-place.test.ts',
      'test/gateway/downstream/error-responses.test.ts',
      'test/attacks/ids/a-table-of-another-database.test.ts',
      'test/attacks/ids/a-database-chosen-by-the-caller.test.ts',
    ],
  },
  ...['stages/authorize', 'stages/authorize-body', 'authorization/decisions'].map((name) => ({
    file: `src/gateway/${name}.ts`,
    tests: [
      'test/gateway/authorization/',
      'test/gateway/restrictions/restricted-members.test.ts',
      'test/gateway/listing/listings-without-a-rule.test.ts',
      'test/gateway/downstream/error-responses.test.ts',
      'test/attacks/facts/a-change-that-ends-in-a-freeze.test.ts',
      'test/attacks/objects/',
      'test/attacks/extra-operations/',
      'test/attacks/upstream/credentials-for-a-reader.test.ts',
    ],
  })),
  ...['stages/read-body', 'body/read-json-body', 'body/read-arrow-body'].map((name) => ({
    file: `src/gateway/${name}.ts`,
    tests: [
      'test/attacks/body/',
      'test/gateway/body/',
      'test/gateway/facts/facts-from-each-source.test.ts',
      'test/gateway/changes/audit-details-match-facts.test.ts',
      'test/gateway/listing/post-to-list-namespaces.test.ts',
      'test/attacks/identity/identity-in-the-body.test.ts',
      'test/attacks/head/a-forged-gateway-context.test.ts',
      'test/attacks/browsers/requests-of-other-sites.test.ts',
      'test/gateway/authorization/jobs-of-their-starters.test.ts',
      'test/attacks/facts/data-that-refers-to-other-objects.test.ts',
      'test/attacks/batches/',
      'test/attacks/resources/bodies-that-exhaust-memory.test.ts',
    ],
  })),
  {
    file: 'src/gateway/stages/place.ts',
    tests: [
      'test/gateway/routing/several-upstreams.test.ts',
      'test/gateway/routing/upstream-for-id.test.ts',
      'test/gateway/facts/facts-from-each-source.test.ts',
      'test/gateway/changes/multipart-writes.test.ts',
      'test/attacks/upstream/a-multipart-write-of-another-caller.test.ts',
      'test/gateway/upstream/open-circuit.test.ts',
      'test/limits/request-limits.test.ts',
      'test/gateway/authorization/shadow-policies.test.ts',
      'test/gateway/listing/incomplete-listings.test.ts',
      'test/attacks/body/a-member-that-nobody-knows.test.ts',
      'test/attacks/extra-operations/',
      'test/attacks/ids/',
      'test/attacks/objects/',
    ],
  },
  { file: 'src/gateway/json/json-tokens.ts', tests: jsonReaders },
  { file: 'src/gateway/json/json-transformer.ts', tests: jsonReaders },
  ...['policy-set', 'engine/policy-tree', 'engine/evaluate'].map((name) => ({
    file: `src/policy/${name}.ts`,
    tests: [
      'test/policy/engine/',
      'test/policy/tags/',
      'test/policy/conditions/',
      'test/policy/visibility/',
      'test/policy/restrictions/rows-of-a-caller.test.ts',
      'test/commands/policy/restrictions.test.ts',
      'test/policy/source/shadow-policies.test.ts',
      'test/policy/policy-mistakes.test.ts',
      'test/policy/analysis/analyses-agree-with-decisions.test.ts',
      'test/policy/testing/written-tests.test.ts',
    ],
  })),
  {
    file: 'src/policy/visibility/visibility.ts',
    tests: ['test/policy/visibility/', 'test/policy/engine/', 'test/policy/source/shadow-policies.test.ts'],
  },
  ...['column-types', 'filter-tokens', 'print-filter'].map((name) => ({
    file: `src/policy/restrictions/${name}.ts`,
    tests: restrictedFilters,
  })),
  {
    file: 'src/policy/restrictions/restriction.ts',
    tests: [
      ...restrictedFilters,
      'test/gateway/restrictions/',
      'test/policy/analysis/lint/lint-findings.test.ts',
      'test/commands/policy/restrictions.test.ts',
    ],
  },
  ...['restricted-response', 'restrict-query', 'restrict-request', 'restricted-read'].map((name) => ({
    file: `src/gateway/restrictions/${name}.ts`,
    tests: [
      'test/gateway/restrictions/',
      'test/gateway/authorization/restricted-reads.test.ts',
      'test/gateway/authorization/shadow-policies.test.ts',
    ],
  })),
  { file: 'src/identity/bearer-tokens.ts', tests: ['test/identity/'] },
  { file: 'src/identity/authenticate.ts', tests: ['test/identity/'] },
  ...['records/hash-chain', 'verify/verify-audit-log', 'log/chain-writer', 'log/recovery'].map((name) => ({
    file: `src/audit/${name}.ts`,
    tests: ['test/audit/records/', 'test/audit/verify/', 'test/audit/log/'],
  })),
  { file: 'src/audit/compare/find-unexplained.ts', tests: ['test/audit/compare/'] },
  {
    file: 'src/audit/compare/recorded-versions.ts',
    tests: ['test/audit/compare/', 'test/commands/audit/audit-compare.test.ts'],
  },
]
