import { readdir, readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import type { ObjectKind } from '../../src/interface/operations.ts'
import type { Permission } from '../../src/interface/permissions.ts'
import { parsePolicies } from '../../src/policy/documents.ts'
import { loadPolicies } from '../../src/policy/folder.ts'
import { ask, caller, type Told } from './written-policy.ts'

const folder = (name: string): string => fileURLToPath(new URL(`../../policies/${name}`, import.meta.url))

const dev = caller('dev')
const analyst = caller('demo-analyst', 'analysts')
const engineer = caller('sam', 'sales-engineers')
const salesAnalyst = caller('ann', 'sales-analysts')
const olga = caller('corp:olga')
const releaser = caller('rob', 'release-engineers')
const onCall = caller('oda', 'on-call')
const builder = caller('cluster:system:serviceaccount:ci:builder')
const modelOwner = caller('mo', 'model-owners')
const payments = caller('payments-service')
const rescuer = caller('rita', 'break-glass')
const warehouseAnalyst = {
  ...caller('corp:ann', 'corp:analysts'),
  method: 'token',
  claims: { amr: ['pwd', 'mfa'] },
} as const
const withoutSecondFactor = { ...warehouseAnalyst, claims: { amr: ['pwd'] } }

const atTheOffice: Told = { request: { clientAddress: '198.51.100.7' } }
const holidays: Told = { request: { now: new Date('2026-12-24T18:00:00Z') } }
const build = new Map([['build', '4711']])
const onBranch: Told = {
  operation: { branch: 'ci/7', metadata: build, manifestPath: 'lake/models/m/_versions/x' },
}
const withReason: Told = { request: { context: new Map([['reason', 'INC-42 stuck batch']]) } }
const pipeline = caller('ingest-pipeline')
const employee = caller('eve', 'employees')
const administrator = caller('ada', 'administrators')
const hr = caller('hal', 'hr', 'employees')

type Row = [
  who: ReturnType<typeof caller>,
  what: Permission,
  kind: ObjectKind,
  id: string,
  expected: 'allowed' | 'denied' | 'no_rule',
  told?: Told,
]

const tables: Readonly<Record<string, readonly Row[]>> = {
  development: [
    [dev, 'ListNamespaces', 'namespace', '', 'allowed'],
    [dev, 'ListAllTables', 'none', '', 'allowed'],
    [dev, 'DropNamespace', 'namespace', 'demo', 'allowed'],
    [dev, 'CreateTableVersion', 'table', 'demo/cities', 'allowed'],
    [dev, 'VendCredentials', 'table', 'anything', 'allowed'],
    [analyst, 'ListTables', 'namespace', 'demo', 'allowed'],
    [analyst, 'QueryTable', 'table', 'demo/cities', 'allowed'],
    [analyst, 'InsertIntoTable', 'table', 'demo/cities', 'no_rule'],
    [analyst, 'CreateTableVersion', 'table', 'demo/cities', 'no_rule'],
    [analyst, 'VendCredentials', 'table', 'demo/cities', 'no_rule'],
    [analyst, 'QueryTable', 'table', 'other/cities', 'no_rule'],
    [analyst, 'ListNamespaces', 'namespace', '', 'no_rule'],
    [caller('stranger'), 'DescribeNamespace', 'namespace', 'demo', 'no_rule'],
  ],
  examples: [
    [engineer, 'CreateTable', 'table', 'sales/orders', 'allowed'],
    [engineer, 'InsertIntoTable', 'table', 'sales/eu/orders', 'allowed'],
    [engineer, 'OverwriteTable', 'table', 'sales/orders', 'no_rule'],
    [engineer, 'DropTable', 'table', 'sales/orders', 'no_rule'],
    [engineer, 'DescribeNamespace', 'namespace', 'marketing', 'no_rule'],
    [salesAnalyst, 'QueryTable', 'table', 'sales/orders', 'allowed'],
    [salesAnalyst, 'UpdateTable', 'table', 'sales/orders', 'no_rule'],
    [olga, 'DropTable', 'table', 'sales/orders', 'allowed'],
    [olga, 'InsertIntoTable', 'table', 'sales/orders', 'no_rule'],
    [releaser, 'QueryTable', 'table', 'prod/orders', 'allowed'],
    [releaser, 'VendCredentials', 'table', 'prod/orders', 'allowed'],
    [releaser, 'InsertIntoTable', 'table', 'prod/orders', 'allowed'],
    [releaser, 'InsertIntoTable', 'table', 'prod/orders', 'denied', holidays],
    [releaser, 'CreateTableVersion', 'table', 'prod/deep/orders', 'denied', holidays],
    [releaser, 'DropNamespace', 'namespace', 'prod', 'denied', holidays],
    [releaser, 'CreateTableIndex', 'table', 'prod/orders', 'denied', holidays],
    [releaser, 'QueryTable', 'table', 'prod/orders', 'allowed', holidays],
    [onCall, 'RestoreTable', 'table', 'prod/orders', 'allowed', holidays],
    [warehouseAnalyst, 'QueryTable', 'table', 'warehouse/facts', 'allowed', atTheOffice],
    [warehouseAnalyst, 'QueryTable', 'table', 'warehouse/facts', 'no_rule'],
    [warehouseAnalyst, 'InsertIntoTable', 'table', 'warehouse/facts', 'no_rule', atTheOffice],
    [warehouseAnalyst, 'VendCredentials', 'table', 'warehouse/facts', 'no_rule', atTheOffice],
    [withoutSecondFactor, 'QueryTable', 'table', 'warehouse/facts', 'no_rule', atTheOffice],
    [caller('a', 'corp:analysts'), 'QueryTable', 'table', 'warehouse/facts', 'no_rule', atTheOffice],
    [builder, 'CreateTableVersion', 'table', 'models/m', 'allowed', onBranch],
    [builder, 'CreateTableVersion', 'table', 'models/m', 'no_rule', changed(onBranch, { branch: 'main' })],
    [
      builder,
      'CreateTableVersion',
      'table',
      'models/m',
      'denied',
      changed(onBranch, { metadata: new Map() }),
    ],
    [
      builder,
      'CreateTableVersion',
      'table',
      'models/m',
      'denied',
      changed(onBranch, { manifestPath: 'lake/x/y' }),
    ],
    [builder, 'InsertIntoTable', 'table', 'models/m', 'allowed', onBranch],
    [builder, 'InsertIntoTable', 'table', 'models/m', 'no_rule', changed(onBranch, { branch: 'cii/7' })],
    [builder, 'CreateTableBranch', 'table', 'models/m', 'no_rule', changed(onBranch, { branch: 'release' })],
    [
      modelOwner,
      'CreateTableVersion',
      'table',
      'models/m',
      'allowed',
      changed(onBranch, { metadata: new Map() }),
    ],
    [
      modelOwner,
      'CreateTableVersion',
      'table',
      'models/m',
      'denied',
      changed(onBranch, { manifestPath: 'x/y' }),
    ],
    [payments, 'InsertIntoTable', 'table', 'payments/booked', 'allowed'],
    [payments, 'DropTable', 'table', 'payments/booked', 'no_rule'],
    [rescuer, 'QueryTable', 'table', 'payments/booked', 'allowed', withReason],
    [rescuer, 'QueryTable', 'table', 'payments/booked', 'no_rule'],
    [rescuer, 'RestoreTable', 'table', 'payments/booked', 'allowed', withReason],
    [rescuer, 'VendCredentials', 'table', 'payments/booked', 'no_rule', withReason],
    [administrator, 'DescribeNamespace', 'namespace', 'payments', 'denied'],
    [pipeline, 'CreateTableVersion', 'table', 'lake/raw/evt_clicks', 'allowed'],
    [pipeline, 'DescribeTable', 'table', 'lake/raw/evt_clicks', 'allowed'],
    [pipeline, 'QueryTable', 'table', 'lake/raw/evt_clicks', 'no_rule'],
    [pipeline, 'CreateTableVersion', 'table', 'lake/raw/users', 'no_rule'],
    [pipeline, 'CreateTableVersion', 'table', 'lake/raw/deep/evt_clicks', 'no_rule'],
    [pipeline, 'CreateTable', 'table', 'lake/raw/evt_new', 'no_rule'],
    [pipeline, 'DropTable', 'table', 'lake/raw/evt_clicks', 'no_rule'],
    [employee, 'QueryTable', 'table', 'company/news', 'allowed'],
    [employee, 'DescribeNamespace', 'namespace', 'company/hr', 'no_rule'],
    [employee, 'QueryTable', 'table', 'company/hr/salaries', 'no_rule'],
    [administrator, 'DropTable', 'table', 'company/news', 'allowed'],
    [administrator, 'QueryTable', 'table', 'company/hr/salaries', 'no_rule'],
    [hr, 'QueryTable', 'table', 'company/hr/salaries', 'allowed'],
    [hr, 'CreateNamespace', 'namespace', 'company/hr/2026', 'allowed'],
    [hr, 'DropTable', 'table', 'company/hr/salaries', 'no_rule'],
  ],
}

function changed({ operation }: Told, change: Told['operation']): Told {
  return { operation: { ...operation, ...change } }
}

describe.each(Object.entries(tables))('policies/%s', async (name, rows) => {
  const set = await loadPolicies(folder(name))

  it.each(rows)('$0.name $1 on $2 $3: $4 (%#)', (who, what, kind, id, expected, told) => {
    const decision = set.decide(ask(who, what, kind, id === '' ? [] : id.split('/'), told))
    expect(decision.allowed ? 'allowed' : decision.reason).toBe(expected)
  })

  it('has only files that can be used alone too', async () => {
    const files = await readdir(folder(name))
    for (const file of files) {
      const text = await readFile(`${folder(name)}/${file}`, 'utf8')
      const { documents, problems } = parsePolicies(text, file)
      expect(problems).toEqual([])
      expect(text).toMatch(/^# yaml-language-server: \$schema=\.\.\/schema\.json\n/)
      expect(documents.length).toBeGreaterThan(0)
    }
  })
})

it('an administrator of the company cannot drop it with the namespace of HR in it', async () => {
  const set = await loadPolicies(folder('examples'))
  expect(set.decideBeneath(ask(administrator, 'DropTable', 'namespace', ['company']))).toMatchObject({
    reason: 'no_rule',
  })
  expect(set.decideBeneath(ask(administrator, 'DropTable', 'namespace', ['company', 'press'])).allowed).toBe(
    true,
  )
})

it('the development key may drop everything at once', async () => {
  const set = await loadPolicies(folder('development'))
  expect(set.decideBeneath(ask(dev, 'DropNamespace', 'namespace', [])).allowed).toBe(true)
})
