import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { stringify } from 'yaml'
import type { PolicyNamespace } from '../../src/config/policy-settings.ts'
import { chartFolder } from '../helm/chart.ts'
import { helm, helms } from '../helm/helm-programs.ts'
import {
  createDelegation,
  createResource,
  platform,
  review,
} from '../policy/source/kubernetes/reviewed-resources.ts'
import { eventually } from '../support/eventually.ts'
import { ApiError } from './support/api-client.ts'
import { startApiServer, type ApiServer } from './support/start-api-server.ts'

const rule = { id: 'read', effect: 'allow', subjects: { groups: ['corp:analysts'] }, operations: ['read'] }
const policy = { namespace: ['prod', 'sales'], rules: [rule] }
const teams = { ...policy, forEach: { team: ['eu', 'us'] }, namespace: ['prod', 'sales', '{team}'] }

function withRule(change: object): object {
  return { ...policy, rules: [{ ...rule, ...change }] }
}

function when(condition: string): object {
  return withRule({ when: condition })
}

/** Mistakes that the API server refuses. */
const refused: Readonly<Record<string, object>> = {
  'no namespace': { ...policy, namespace: undefined },
  'no rules': { namespace: ['prod'] },
  'a misspelt field': { ...policy, rulse: [] },
  'a misspelt field of a rule': withRule({ wehn: 'true' }),
  'a misspelt effect': withRule({ effect: 'alow' }),
  'a rule without an id': withRule({ id: undefined }),
  'a rule for nobody': withRule({ subjects: {} }),
  'any: false': withRule({ subjects: { any: false } }),
  'operations as text': withRule({ operations: 'read' }),
  'another status': { ...policy, onDeny: 401 },
  'an end without a time': withRule({ until: '2027-01-31' }),
  'a test of two objects': {
    ...policy,
    tests: [{ operations: ['read'], expect: 'deny', namespace: ['a'], table: ['a', 't'] }],
  },
  'a misspelt operation': withRule({ operations: ['ListTabels'] }),
  'a group of operations in upper case': withRule({ operations: ['Read'] }),
  'a rule id twice': { ...policy, rules: [rule, rule] },
  'until in a deny': withRule({ effect: 'deny', until: '2027-01-31T00:00:00Z' }),
  'a namespace joined by slashes': { ...policy, namespace: ['prod/sales'] },
  'a namespace joined by $': { ...policy, namespace: ['prod$sales'] },
  'a table with its namespace': withRule({ tables: ['sales/orders'] }),
  'a table with its namespace, joined by $': withRule({ tables: ['prod$sales$orders'] }),
  'a service account without its issuer': withRule({ subjects: { serviceAccounts: ['etl/loader'] } }),
  'a pattern of groups': withRule({ subjects: { groups: ['corp:*'] } }),
  'a pattern of exceptions': withRule({ subjects: { any: true, except: { users: ['corp:*'] } } }),
  'a variable without forEach': { ...policy, namespace: ['prod', '{team}'] },
  'forEach without its variable in the namespace': { ...teams, namespace: ['prod', '{taem}'] },
  'a value of forEach twice': { ...teams, forEach: { team: ['eu', 'us', 'eu'] } },
  'a policy for development': { ...policy, mode: 'development' },
}

/** Mistakes that only the gateway can see. */
const reported: Readonly<Record<string, object>> = {
  'a condition that is not CEL': when('branch == "main" and true'),
  'an unknown fact': when('brunch == "main"'),
  'an unknown member of a fact': when('client.adress == "192.0.2.1"'),
  'an unknown function': when('branch.beginsWith("ci")'),
  'a comparison of two types': when('branch == 5'),
  'a condition that is no boolean': when('branch'),
  'tables of operations that have none': withRule({ operations: ['ListNamespaces'], tables: ['orders'] }),
  'an unknown type of a column': { ...policy, tags: { tables: { orders: { columns: { id: 'integer' } } } } },
  'a condition on rows that is no SQL': {
    namespace: ['prod'],
    restrict: [
      {
        id: 'part',
        subjects: { any: true },
        tables: ['orders'],
        columns: { id: 'number' },
        rows: 'id == 5 &&',
      },
    ],
  },
}

const delegation = createDelegation()

/** Policies that exceed the delegation. */
const beyond: Readonly<Record<string, object>> = {
  'the namespace of another team': { ...policy, namespace: ['prod', 'finance'] },
  'a deny': withRule({ effect: 'deny' }),
  'inherit: false': { ...policy, inherit: false },
  'the group of another issuer': withRule({ subjects: { groups: ['partner:analysts'] } }),
  everybody: withRule({ subjects: { any: true } }),
  'registering tables at any location': withRule({ operations: ['RegisterTable'] }),
}

/** What the gateway accepts within the delegation. */
const accepted: Readonly<Record<string, object>> = {
  'a grant': policy,
  'a grant beneath': { ...policy, namespace: ['prod', 'sales', 'eu'], contact: 'team-sales', inherit: true },
  'a grant for each value': {
    ...teams,
    rules: [{ ...rule, subjects: { groups: ['corp:{team}'], serviceAccounts: ['corp:{team}/loader'] } }],
  },
  'a grant to named subjects': withRule({
    subjects: { users: ['alice'], groups: ['sales'], keys: ['k1'], except: { users: ['partner:bob'] } },
    operations: ['browse', 'query', 'write', 'create', 'drop', 'RenameTable'],
    tables: ['orders*'],
    until: '2030-01-31T00:00:00Z',
    when: 'branch == "main"',
  }),
  'a shadow policy': { ...policy, mode: 'shadow' },
  'a policy as large as it may be': {
    ...teams,
    forEach: { team: Array.from({ length: 100 }, (_, index) => `t${index}`) },
    rules: Array.from({ length: 80 }, (_, index) => ({
      ...rule,
      id: `read-${index}`,
      subjects: { groups: Array.from({ length: 25 }, (__, group) => `corp:{team}-${group}`) },
    })),
  },
}

const values = {
  check: { enabled: false },
  policies: {
    kubernetes: {
      enabled: true,
      delegations: [
        {
          kubernetesNamespace: 'team-a',
          catalogNamespaces: delegation.catalogNamespaces,
          subjects: { ...delegation.subjects, issuers: ['corp'] },
        },
      ],
    },
  },
  config: {
    identity: {
      issuers: [{ name: 'corp', issuer: 'https://login.corp.example', audience: 'c', algorithms: ['ES256'] }],
    },
  },
}

let server: ApiServer

/** Applies a policy without storing it. Resolves with why it is refused; undefined if it is accepted. */
async function refusalOf(namespace: string, content: object): Promise<string | undefined> {
  const { metadata = {}, ...fields } = content as { readonly metadata?: object }
  const path = `/apis/catalog-gateway.dev/v1/namespaces/${namespace}/accesspolicies?dryRun=All&fieldValidation=Strict`
  const kind = { apiVersion: 'catalog-gateway.dev/v1', kind: 'AccessPolicy' }
  return server.client.post(path, { ...kind, metadata: { name: 'p', ...metadata }, ...fields }).then(
    () => undefined,
    (error: unknown) => {
      if (error instanceof ApiError && [400, 422].includes(error.status)) return error.message
      throw error
    },
  )
}

async function listRefused(
  namespace: string,
  policies: Readonly<Record<string, object>>,
): Promise<readonly string[]> {
  const names: string[] = []
  for (const [name, content] of Object.entries(policies))
    if ((await refusalOf(namespace, content)) !== undefined) names.push(name)
  console.warn(`In ${namespace} the API server refuses ${names.length} of ${Object.keys(policies).length}.`)
  return names
}

function isAcceptedByGateway(namespace: PolicyNamespace, content: object): Promise<boolean> {
  const { metadata = {}, ...fields } = content as { readonly metadata?: object }
  return review(namespace, createResource('p', fields, { namespace: namespace.name, ...metadata })).then(
    ([reviewed]) => reviewed?.reason === 'Accepted',
  )
}

describe.skipIf(helms.length === 0)('mistakes of authors', () => {
  beforeAll(async () => {
    server = await startApiServer()
    for (const name of ['catalog', 'team-a'])
      await server.client.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
    const file = join(server.folder, 'values.yaml')
    await writeFile(file, stringify(values))
    const words = ['--namespace', 'catalog', '--kubeconfig', server.kubeconfig, '--values', file]
    await helm(['install', 'demo', chartFolder, ...words])
    // Rules of admission are in force soon after they are created.
    await eventually(async () =>
      expect(await refusalOf('catalog', refused['a misspelt field'] ?? {})).toBeDefined(),
    )
    await eventually(async () =>
      expect(await refusalOf('team-a', beyond['everybody'] ?? {})).toContain('not delegated'),
    )
  }, 180_000)

  afterAll(() => server?.close())

  it('the API server refuses 27 of 36 at once', async () => {
    const invalid = { ...refused, ...reported }
    expect(Object.keys(invalid)).toHaveLength(36)
    const names = await listRefused('catalog', invalid)
    expect(names).toEqual(Object.keys(refused))
    expect(names).toHaveLength(27)
  })

  it.each(Object.entries({ ...refused, ...reported }))('the gateway refuses %s', async (_, content) => {
    expect(await isAcceptedByGateway(platform, content)).toBe(false)
  })

  it('the API server refuses all that goes beyond a delegation', async () => {
    expect(await listRefused('team-a', beyond)).toEqual(Object.keys(beyond))
    // They are no mistakes of the platform.
    expect(await listRefused('catalog', beyond)).toEqual([])
  })

  it.each(Object.entries(beyond))('so does the gateway: %s', async (_, content) => {
    expect(await isAcceptedByGateway(delegation, content)).toBe(false)
  })

  it.each(Object.entries(accepted))('both accept %s within a delegation', async (_, content) => {
    expect(await refusalOf('team-a', content)).toBeUndefined()
    expect(await isAcceptedByGateway(delegation, content)).toBe(true)
  })
})
