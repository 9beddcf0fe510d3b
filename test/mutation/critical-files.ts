/** A source file whose mutants are tried, and the tests that should find them, fast ones first: files, or folders. */
export interface CriticalFile {
  readonly file: string
  readonly tests: readonly string[]
}

const audit = [
  'test/audit/hash-chain.test.ts',
  'test/audit/tampered-file.test.ts',
  'test/audit/seals.test.ts',
]
const recovery = [
  'test/audit/journal.test.ts',
  'test/audit/damaged-journal.test.ts',
  'test/audit/power-cut.test.ts',
]
const decisions = [
  'test/policy/decisions.test.ts',
  'test/policy/decides-as-the-oracle.test.ts',
  'test/policy/conditions.test.ts',
  'test/policy/visibility.test.ts',
  'test/policy/shadow.test.ts',
]
const jsonReaders = ['test/gateway/json-readers-agree.test.ts', 'test/gateway/json-edits-agree.test.ts']

/**
 * The files in which a fault lets a wrong request through, or loses a record. Their tests are the near ones: a mutant
 * that only a distant test finds by chance counts as survived.
 */
export const criticalFiles: readonly CriticalFile[] = [
  { file: 'src/interface/identifiers.ts', tests: ['test/interface/identifiers.test.ts'] },
  {
    file: 'src/interface/target.ts',
    tests: ['test/interface/target.test.ts', 'test/gateway/canonical-targets.test.ts'],
  },
  {
    file: 'src/http1/server/request-head.ts',
    tests: ['test/http1/server/request-heads.test.ts', 'test/http1/server/refused-at-once.test.ts'],
  },
  { file: 'src/http1/server/request-parser.ts', tests: ['test/http1/server/'] },
  { file: 'src/http1/codec/header-fields.ts', tests: ['test/http1/'] },
  {
    file: 'src/http1/codec/chunked-decoder.ts',
    tests: ['test/http1/codec/chunked-bodies.test.ts', 'test/http1/server/refused-at-once.test.ts'],
  },
  { file: 'src/http1/client/response-parser.ts', tests: ['test/http1/client/'] },
  {
    file: 'src/gateway/stages/match.ts',
    tests: ['test/gateway/aims-remembered.test.ts', 'test/gateway/refusals.test.ts'],
  },
  {
    file: 'src/gateway/stages/authorize.ts',
    tests: [
      'test/gateway/requests-decided-as-documented.test.ts',
      'test/gateway/concealment.test.ts',
      'test/gateway/responses-to-writes.test.ts',
      'test/attacks/a-change-that-ends-in-a-freeze.test.ts',
      'test/attacks/cascade-over-a-denied-table.test.ts',
      'test/attacks/credentials-for-a-reader.test.ts',
      'test/gateway/refusals.test.ts',
    ],
  },
  { file: 'src/gateway/stages/check.ts', tests: ['test/attacks/', 'test/gateway/'] },
  { file: 'src/gateway/body/json-number.ts', tests: jsonReaders },
  { file: 'src/gateway/body/json-name.ts', tests: jsonReaders },
  { file: 'src/gateway/body/json-scanner.ts', tests: jsonReaders },
  { file: 'src/gateway/body/json-watch.ts', tests: jsonReaders },
  { file: 'src/policy/trie.ts', tests: decisions },
  { file: 'src/policy/policy-node.ts', tests: decisions },
  { file: 'src/policy/rule-index.ts', tests: ['test/policy/many-subjects.test.ts', ...decisions] },
  { file: 'src/policy/visible.ts', tests: ['test/policy/visibility.test.ts', ...decisions] },
  { file: 'src/identity/bearer-tokens.ts', tests: ['test/identity/'] },
  { file: 'src/identity/authenticate.ts', tests: ['test/identity/'] },
  { file: 'src/audit/chain.ts', tests: [...audit, 'test/audit/table-history.test.ts'] },
  { file: 'src/audit/chain-writer.ts', tests: [...audit, 'test/audit/rotation.test.ts'] },
  { file: 'src/audit/verification.ts', tests: audit },
  { file: 'src/audit/journal-entry.ts', tests: recovery },
  { file: 'src/audit/recovery.ts', tests: recovery },
]
