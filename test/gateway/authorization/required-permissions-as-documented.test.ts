import fc from 'fast-check'
import { runInSlices } from '../../../src/lib/async/run-in-slices.ts'
import { afterAll, expect, it } from 'vitest'
import { directOpener } from '../../support/direct-opener.ts'
import { arrowUpload } from '../../support/arrow-upload.ts'
import { DeniedError } from '../../../src/gateway/authorization/decisions.ts'
import { createSealedIds } from '../../../src/gateway/sealed-tokens.ts'
import { authorize } from '../../../src/gateway/stages/authorize.ts'
import { authorizeBody } from '../../../src/gateway/stages/authorize-body.ts'
import { match, createRouteFinder } from '../../../src/gateway/stages/match.ts'
import { readBody } from '../../../src/gateway/stages/read-body.ts'
import { upstreamSchema } from '../../../src/config/upstream/upstream-settings.ts'
import { createUpstreams } from '../../../src/gateway/upstream/upstreams.ts'
import type { Permission } from '../../../src/catalog-api/permissions.ts'
import { type OperationFacts, unknown } from '../../../src/policy/conditions/authorization-request.ts'
import type { PolicySet } from '../../../src/policy/policy-set.ts'
import { arbitraryPolicies } from '../../policy/policy-arbitraries.ts'
import { oracleDecide, oracleDecideBeneath } from '../../policy/decision-oracle.ts'
import {
  createAuthorizationRequest,
  createCaller,
  compilePolicySet,
  type WrittenPolicy,
} from '../../policy/policy-builder.ts'
import { isThorough } from '../../support/thorough.ts'
import { fixed } from '../../../src/lib/fs/follow-files.ts'

/** A required permission as documented in policies/README.md. */
interface RequiredPermission {
  readonly permission: Permission
  readonly id: readonly string[]
  readonly facts: Partial<OperationFacts>
  readonly kind?: 'namespace'
  readonly beneath?: true
}

/** A request with all permissions that it requires. */
interface Case {
  readonly path: string
  readonly body?: object
  readonly permissions: readonly RequiredPermission[]
  /** Of a batch: the permission that a rule may deny at the root. */
  readonly batch?: Permission
}

const ann = createCaller('alice', 'sales', 'ops')
const everyBranch = { branch: unknown } as const
/** Everything beneath a namespace that is dropped with it; its kinds are unknown. */
const dropOperations = [
  ['DropTable', everyBranch],
  ['DropMaterializedView', everyBranch],
  ['DropView', everyBranch],
  ['DropFunction', {}],
  ['DropSecret', {}],
  ['DropNamespace', {}],
] as const
const moved = { ...everyBranch, location: unknown, properties: unknown } as const

const branch = fc.constantFrom(undefined, 'main', 'dev', 'ci/7')
const table = fc
  .tuple(fc.array(fc.constantFrom('a', 'b'), { maxLength: 2 }), fc.constantFrom('a', 'b', 'ab'))
  .map(([namespace, name]) => [...namespace, name])
const ticket = fc.constantFrom(undefined, { ticket: 'T-1' })

const on = (id: readonly string[], rest: string): string => `/v1/table/${id.join('$')}/${rest}`
const defined = (members: object): object =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined))
const stated = (branchSent: string | undefined) => ({ branch: branchSent ?? 'main' })
const query = (name: string, value: string | undefined): string =>
  value === undefined ? '' : `?${name}=${encodeURIComponent(value)}`

const commit = (members: object) => ({ version: 2, manifest_path: 't/_versions/s', ...defined(members) })

const cases: fc.Arbitrary<Case> = fc.oneof<fc.Arbitrary<Case>[]>(
  fc.tuple(table, branch).map(([id, sent]) => ({
    path: on(id, 'query'),
    body: defined({ branch: sent }),
    permissions: [{ permission: 'QueryTable', id, facts: stated(sent) }],
  })),
  fc.tuple(table, branch, fc.boolean()).map(([id, sent, overwrites]) => ({
    path:
      on(id, `insert${query('branch', sent)}`) +
      (overwrites ? `${sent === undefined ? '?' : '&'}mode=overwrite` : ''),
    permissions: [
      {
        permission: 'InsertIntoTable',
        id,
        facts: { ...stated(sent), ...(overwrites && { mode: 'overwrite' }) },
      },
      ...(overwrites ? [{ permission: 'OverwriteTable' as const, id, facts: stated(sent) }] : []),
    ],
  })),
  fc.tuple(table, branch, ticket).map(([id, sent, metadata]) => ({
    path: on(id, 'version/create'),
    body: commit({ branch: sent, metadata }),
    permissions: [
      {
        permission: 'CreateTableVersion',
        id,
        facts: { ...stated(sent), metadata: new Map(Object.entries(metadata ?? {})) },
      },
    ],
  })),
  table.map((id) => ({
    path: on(id, 'drop'),
    body: {},
    permissions: [{ permission: 'DropTable', id, facts: everyBranch }],
  })),
  fc.tuple(table, branch).map(([id, sent]) => ({
    path: on(id, 'tags/create'),
    body: defined({ tag: 'v1', version: 1, branch: sent }),
    permissions: [{ permission: 'CreateTableTag', id, facts: stated(sent) }],
  })),
  fc.tuple(table, branch).map(([id, sent]) => ({
    path: on(id, 'tags/update'),
    body: defined({ tag: 'v1', version: 1, branch: sent }),
    permissions: [{ permission: 'UpdateTableTag', id, facts: everyBranch }],
  })),
  fc.tuple(table, branch, fc.boolean()).map(([id, sent, hasProperties]) => ({
    path: on(id, 'update'),
    body: defined({ branch: sent, ...(hasProperties && { properties: { a: 'b' } }) }),
    permissions: [
      { permission: 'UpdateTable', id, facts: stated(sent) },
      ...(hasProperties ? [{ permission: 'UpdateTable' as const, id, facts: everyBranch }] : []),
    ],
  })),
  fc.tuple(table, branch, branch).map(([id, name = 'ci/8', from]) => ({
    path: on(id, 'branches/create'),
    body: defined({ name, from_branch: from }),
    permissions: [
      { permission: 'CreateTableBranch', id, facts: { branch: name } },
      { permission: 'QueryTable', id, facts: stated(from) },
    ],
  })),
  fc.tuple(table, table).map(([id, to]) => ({
    path: on(id, 'rename'),
    body: { new_table_name: to.at(-1), new_namespace_id: to.slice(0, -1) },
    permissions: [
      { permission: 'RenameTable', id, facts: everyBranch },
      { permission: 'CreateTable', id: to, facts: moved },
      // Catalogs read an empty list as the root, or as absent.
      ...(to.length === 1
        ? [{ permission: 'CreateTable' as const, id: [...id.slice(0, -1), ...to], facts: moved }]
        : []),
    ],
  })),
  table.map((id) => ({
    path: on(id, 'register'),
    body: { location: 's3://b/t' },
    permissions: [
      { permission: 'RegisterTable', id, facts: everyBranch },
      { permission: 'ChooseLocation', id, facts: everyBranch },
    ],
  })),
  fc
    .tuple(fc.array(fc.constantFrom('a', 'b'), { minLength: 1, maxLength: 2 }), fc.boolean())
    .map(([id, cascades]) => ({
      path: `/v1/namespace/${id.join('$')}/drop`,
      body: cascades ? { behavior: 'Cascade' } : {},
      permissions: [
        { permission: 'DropNamespace', id, kind: 'namespace', facts: {} },
        ...(cascades
          ? dropOperations.map(([permission, facts]): RequiredPermission => ({
              permission,
              id,
              kind: 'namespace',
              facts,
              beneath: true,
            }))
          : []),
      ],
    })),
  fc.array(fc.tuple(table, branch, ticket), { minLength: 1, maxLength: 3 }).map((entries) => ({
    path: '/v1/table/version/batch-create',
    body: { entries: entries.map(([id, sent, metadata]) => ({ id, ...commit({ branch: sent, metadata }) })) },
    batch: 'BatchCreateTableVersions',
    permissions: entries.map(([id, sent, metadata]) => ({
      permission: 'CreateTableVersion',
      id,
      facts: { ...stated(sent), metadata: new Map(Object.entries(metadata ?? {})) },
    })),
  })),
)

const branchConditions = [
  'branch == "main"',
  'branch.like("ci/*")',
  'branch.like("ci/*") || operation == "DropTable"',
  'branch != "" && !branch.like("ci/*")',
]
const anybody = { any: true as const }

/** Mostly permissive policies, so that single permissions and branches decide. */
const lenientPolicies: fc.Arbitrary<readonly WrittenPolicy[]> = fc
  .record({
    denied: fc.constantFrom(
      'QueryTable',
      'UpdateTable',
      'OverwriteTable',
      'CreateTable',
      'drop',
      'admin',
      'commit',
      'change',
    ),
    when: fc.constantFrom(...branchConditions),
    isAllow: fc.boolean(),
    requiresTicket: fc.boolean(),
  })
  .map(({ denied, when, isAllow, requiresTicket }) => [
    {
      name: 'lenient',
      namespace: [],
      ...(requiresTicket && { commits: { metadata: ['ticket'] } }),
      rules: isAllow
        ? [{ id: 'r', effect: 'allow', subjects: anybody, operations: ['all'], when }]
        : [
            { id: 'r', effect: 'allow', subjects: anybody, operations: ['all'] },
            { id: 'd', effect: 'deny', subjects: anybody, operations: [denied], when },
          ],
    },
  ])

const upstreams = createUpstreams([
  {
    ...upstreamSchema.parse({ url: 'http://127.0.0.1:9' }),
    name: 'catalog',
    opener: directOpener,
    credentials: fixed([]),
  },
])
afterAll(() => upstreams.close())
const sealedIds = createSealedIds(Buffer.alloc(32))
const bodyLimits = { maxJsonBytes: 1_000_000, maxBatchEntries: 100, maxJsonValues: 10_000 }

/** Whether all stages accept the request. */
async function passes(set: PolicySet, { path, body }: Case): Promise<boolean> {
  const bytes = body === undefined ? arrowUpload : Buffer.from(JSON.stringify(body))
  const head = {
    requestId: 'r',
    client: '192.0.2.7',
    method: 'POST',
    target: path,
    credentials: { apiKey: undefined, authorization: undefined, connection: undefined },
    isOidcToken: false,
    headers: [],
    database: undefined,
    isLancedb: false,
    contentType: undefined,
    contentEncoding: undefined,
    contentLength: bytes.length,
    hasBody: true,
    host: undefined,
    peer: undefined,
    page: undefined,
  }
  const matched = match({ head }, createRouteFinder(upstreams, '', 'refused'))
  try {
    const authorized = authorize({ ...matched, principal: ann }, set, now)
    const admitted = { ...authorized, countReceived: undefined, reserveMemory: () => undefined, runInSlices }
    const arriving = { readAll: () => Promise.resolve(bytes), open: () => Promise.resolve({} as never) }
    const bodyRead = await readBody(admitted, arriving, { bodyLimits, upstreams, sealedIds })
    const policies = { current: () => set }
    await authorizeBody(bodyRead, { authenticator: { authenticate: () => ann }, policies })
    return true
  } catch (error) {
    if (error instanceof DeniedError) return false
    throw error
  }
}

const now = new Date()

function isAllowed(written: readonly WrittenPolicy[], { permissions, batch }: Case): boolean {
  const request = { now, clientAddress: '192.0.2.7' }
  if (batch !== undefined) {
    const own = oracleDecide(written, createAuthorizationRequest(ann, batch, 'none', [], { request }))
    if (own.reason === 'denied') return false
  }
  return permissions.every(({ permission, id, kind, facts, beneath }) => {
    const required = createAuthorizationRequest(ann, permission, kind ?? 'table', id, {
      request,
      operation: facts,
    })
    return (beneath ? oracleDecideBeneath(written, required) : oracleDecide(written, required)).allowed
  })
}

it('allows a request exactly if all documented permissions are allowed', async () => {
  let passed = 0
  let refused = 0
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(arbitraryPolicies, lenientPolicies),
      fc.array(cases, { minLength: 12, maxLength: 12 }),
      async (written, requests) => {
        // A condition on the id of objects below counts against the caller: the ids are not known.
        const set = compilePolicySet(written)
        for (const request of requests) {
          const expected = isAllowed(written, request)
          if (
            request.permissions.some(({ beneath }) => beneath) &&
            JSON.stringify(written).includes('id.size()')
          ) {
            if (!expected) expect(await passes(set, request)).toBe(false)
          } else {
            expect(await passes(set, request), JSON.stringify(request)).toBe(expected)
          }
          if (expected) passed += 1
          else refused += 1
        }
      },
    ),
    { numRuns: isThorough ? 3000 : 100 },
  )
  expect(Math.min(passed, refused)).toBeGreaterThan(100)
})
