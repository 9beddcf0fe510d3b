import { defineConfig, type OxlintOverride } from 'oxlint'

const ofProtocol = ['lib', 'outbound', 'http1']
const ofSettings = ['lib', 'outbound', 'catalog-api', 'settings', 'config']
const ofDecisions = [...ofSettings, 'identity', 'policy', 'audit', 'limits', 'observability']

/** The rooms of src, and which of them each may import. */
const rooms: Readonly<Record<string, readonly string[]>> = {
  lib: [],
  arrow: ['lib'],
  outbound: ['lib'],
  kubernetes: ['lib', 'outbound'],
  http1: ['lib', 'outbound'],
  'node-http': ofProtocol,
  listener: ofProtocol,
  'catalog-api': ['lib'],
  settings: ['lib', 'outbound'],
  config: ['lib', 'outbound', 'catalog-api', 'settings'],
  identity: [...ofSettings, 'kubernetes'],
  policy: [...ofSettings, 'identity', 'kubernetes'],
  audit: [...ofSettings, 'identity', 'policy'],
  limits: [...ofSettings, 'identity'],
  observability: [...ofDecisions, 'http1'],
  console: ofDecisions,
  gateway: [...ofDecisions, 'arrow', 'kubernetes', 'console', 'http1', 'node-http', 'listener'],
  commands: [...ofDecisions, 'kubernetes', 'gateway'],
  // A package of its own, which imports what that of the gateway exports.
  backend: [],
}

/** The layers of the gateway, folders of src/gateway, and which of them each may import. */
const layers: Readonly<Record<string, readonly string[]>> = {
  json: [],
  facts: ['json'],
  body: ['json', 'facts'],
  authorization: ['json', 'facts'],
  restrictions: ['json', 'facts', 'body'],
  upstream: ['json', 'facts', 'body', 'authorization', 'restrictions'],
  changes: ['json', 'facts', 'body', 'upstream'],
  listing: ['json', 'facts', 'upstream'],
  stages: ['json', 'facts', 'body', 'authorization', 'restrictions', 'upstream', 'changes', 'listing'],
  observability: [
    ...['json', 'facts', 'body', 'authorization', 'restrictions', 'upstream', 'changes', 'listing'],
    'stages',
  ],
}

/** The deepest folders of a room are two levels below it. */
const depths = [1, 2, 3]

interface Forbidden {
  /** Patterns of what an import may not name, in the syntax of .gitignore. */
  readonly group: string[]
  readonly message: string
}

/** What the files of a room, at this depth in it, may not import. */
function listForbidden(room: string, depth: number): readonly Forbidden[] {
  const src = '../'.repeat(depth)
  const allowed = rooms[room] ?? []
  const others = Object.keys(rooms).filter((other) => other !== room)
  const forbidden = others.filter((other) => !allowed.includes(other)).map((other) => `${src}${other}/**`)
  return [
    { group: [...forbidden, `${src}main.ts`], message: describeAllowed(`${room}/`, allowed) },
    ...others.map((other) => ({
      group: [`${src}${other}/**`, `!${src}${other}/index.ts`],
      message: `${other}/ has one door: import ${src}${other}/index.ts.`,
    })),
  ]
}

function listForbiddenLayers(layer: string, allowed: readonly string[]): Forbidden {
  const above = Object.keys(layers).filter((other) => other !== layer && !allowed.includes(other))
  const group = [...[...above, 'bootstrap'].map((other) => `../${other}/**`), '../pipeline.ts']
  return { group, message: describeAllowed(`gateway/${layer}/`, allowed) }
}

function describeAllowed(folder: string, allowed: readonly string[]): string {
  return `${folder} may import ${allowed.join(', ') || 'none of the others'} (oxlint.config.ts).`
}

function forbid(files: string, patterns: readonly Forbidden[]): OxlintOverride {
  return {
    files: [files],
    excludeFiles: ['src/backend/test/**'],
    rules: { 'no-restricted-imports': ['error', { patterns: [...patterns] }] },
  }
}

export default defineConfig({
  plugins: ['typescript', 'unicorn', 'import', 'promise', 'oxc'],
  categories: {
    correctness: 'error',
    suspicious: 'error',
  },
  rules: {
    'typescript/no-floating-promises': 'error',
    'typescript/no-misused-promises': 'error',
    'typescript/no-explicit-any': 'error',
    'typescript/no-non-null-assertion': 'error',
    'typescript/consistent-type-imports': 'error',
    'typescript/switch-exhaustiveness-check': 'error',
    'typescript/no-unsafe-type-assertion': 'error',
    'import/no-cycle': ['error', { ignoreTypes: false }],
    'import/no-default-export': 'error',
    'import/no-named-as-default-member': 'off',
    'oxc/no-async-endpoint-handlers': 'off',
    'no-control-regex': 'off',
    'no-await-in-loop': 'off',
    'no-shadow': 'off',
    'object-shorthand': 'error',
    'no-underscore-dangle': 'off',
    'promise/always-return': 'off',
    'promise/no-multiple-resolved': 'off',
    'unicorn/require-post-message-target-origin': 'off',
  },
  ignorePatterns: ['dist', 'node_modules', 'test/clients/generated/scenarios'],
  overrides: [
    ...Object.keys(rooms).flatMap((room) =>
      depths.map((depth) => forbid(`src/${room}/${'*/'.repeat(depth - 1)}*.ts`, listForbidden(room, depth))),
    ),
    ...Object.entries(layers).map(([layer, allowed]) =>
      forbid(`src/gateway/${layer}/*.ts`, [
        ...listForbidden('gateway', 2),
        listForbiddenLayers(layer, allowed),
      ]),
    ),
    {
      files: ['test/**', 'bench/**', 'src/backend/test/**'],
      plugins: ['typescript', 'unicorn', 'import', 'promise', 'oxc', 'vitest'],
      rules: {
        'typescript/no-unsafe-type-assertion': 'off',
        'vitest/consistent-test-it': ['error', { fn: 'it', withinDescribe: 'it' }],
      },
    },
    {
      files: ['*.config.ts'],
      rules: { 'import/no-default-export': 'off' },
    },
  ],
})
