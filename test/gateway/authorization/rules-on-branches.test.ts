import { describe, expect, it } from 'vitest'
import type { WrittenRule } from '../../policy/policy-builder.ts'
import { expectError } from '../support/expect-error.ts'
import { allowEverything } from '../support/open-gateway.ts'
import { useSharedGateway } from '../support/running-gateway.ts'

// A change of a whole table affects every branch, so a rule on branches denies it unless the rule names it.

/** Under a namespace `NS`, which stands in the path and the body. */
type Change = readonly [what: string, path: string, body?: object]

const table = { id: ['NS', 't'] }
const ofBranch = { ...table, branch: 'ci/a' }
const version = { version: 2, manifest_path: 'lake/t/_versions/2' }

/** With the operations that a rule must name to allow it. */
const changes: readonly (readonly [names: readonly string[], ...Change])[] = [
  [['DropTable'], 'DropTable', 'table/NS$t/drop'],
  [['DeregisterTable'], 'DeregisterTable', 'table/NS$t/deregister'],
  [['RegisterTable', 'ChooseLocation'], 'RegisterTable', 'table/NS$t/register', { location: 'lake/t' }],
  [
    ['RegisterTable', 'ChooseLocation', 'OverwriteTable'],
    'RegisterTable Overwrite',
    'table/NS$t/register',
    { location: 'lake/t', mode: 'Overwrite' },
  ],
  [
    ['RenameTable', 'CreateTable'],
    'RenameTable',
    'table/NS$t/rename',
    { new_table_name: 'u', new_namespace_id: ['NS'] },
  ],
  [['OverwriteTable', 'CreateTable'], 'CreateTable Overwrite', 'table/NS$t/create?mode=Overwrite'],
  [
    ['UpdateTable'],
    'UpdateTable with properties',
    'table/NS$t/update',
    { branch: 'ci/a', updates: [['id', '1']], properties: { owner: 'ann' } },
  ],
  [['UpdateTableTag'], 'UpdateTableTag', 'table/NS$t/tags/update', { tag: 'v1', version: 1, branch: 'ci/a' }],
  [['DeleteTableTag'], 'DeleteTableTag', 'table/NS$t/tags/delete', { tag: 'v1' }],
  [['CreateMaterializedView'], 'CreateMaterializedView', 'materialized_view/NS$v/create', { kind: 'query' }],
  [['RefreshMaterializedView'], 'RefreshMaterializedView', 'materialized_view/NS$v/refresh'],
  [
    ['AlterTransaction'],
    'AlterTransaction',
    'transaction/NS$t$1/alter',
    { actions: [{ setStatusAction: { status: 'Canceled' } }] },
  ],
  [
    ['DropTable', 'DropMaterializedView', 'DropView'],
    'DropNamespace Cascade',
    'namespace/NS/drop',
    { behavior: 'Cascade' },
  ],
  [
    ['DropTable', 'DropMaterializedView', 'DropView'],
    'CreateNamespace Overwrite',
    'namespace/NS/create',
    { mode: 'Overwrite' },
  ],
  [
    ['DeregisterTable'],
    'an entry that deregisters',
    'table/batch-commit',
    { operations: [{ delete_table_versions: { ...ofBranch, ranges: [] } }, { deregister_table: table }] },
  ],
]

/** Changes of one branch that none of the rules below deny. */
const ofOneBranch: readonly Change[] = [
  ['an overwrite of the rows', 'table/NS$t/insert?mode=overwrite&branch=ci/a'],
  ['an update', 'table/NS$t/update', { branch: 'ci/a', updates: [['id', '1']] }],
  ['a new tag', 'table/NS$t/tags/create', { tag: 'v2', version: 1, branch: 'ci/a' }],
  [
    'entries',
    'table/batch-commit',
    {
      operations: [
        { delete_table_versions: { ...ofBranch, ranges: [] } },
        { create_table_version: { ...ofBranch, ...version } },
      ],
    },
  ],
]

/** Changes of main, which the rules that protect it deny. */
const ofMain: readonly Change[] = [
  ['an overwrite of the rows', 'table/NS$t/insert?mode=overwrite'],
  [
    'an entry that deletes versions',
    'table/batch-commit',
    { operations: [{ delete_table_versions: { ...table, ranges: [] } }] },
  ],
  [
    'an entry that commits a version',
    'table/batch-commit',
    { operations: [{ create_table_version: { ...table, ...version } }] },
  ],
  ['an entry of versions', 'table/version/batch-create', { entries: [{ ...table, ...version }] }],
]

/** A form of a rule on branches; `names` are the changes of whole tables that it allows. */
interface Form {
  readonly protectsMain: boolean
  readonly rules: (names: readonly string[]) => readonly WrittenRule[]
}

const subjects = { users: ['ci'] }
const anything: WrittenRule = { id: 'all', effect: 'allow', subjects, operations: ['all'] }
const list = (names: readonly string[]): string => JSON.stringify(names)

/** The deny of changes that policies/README.md documents, for changes of branches that match the condition. */
const changesDenied =
  (when: string): Form['rules'] =>
  (names) => [
    anything,
    {
      id: 'no',
      effect: 'deny',
      subjects: { everyone: true },
      operations: ['change'],
      when: names.length > 0 ? `!(operation in ${list(names)}) && ${when}` : when,
    },
  ]

const forms: Readonly<Record<string, Form>> = {
  'others-denied': { protectsMain: true, rules: changesDenied('branch != "" && !branch.like("ci/*")') },
  'main-denied': { protectsMain: true, rules: changesDenied('branch == "main"') },
  'release-denied': { protectsMain: false, rules: changesDenied('branch == "release"') },
  'allow-when': {
    protectsMain: true,
    rules: (names) => [
      {
        ...anything,
        when: `branch.like("ci/*") || operation in ["DropNamespace", "CreateNamespace", "DropFunction", "DropSecret"] || operation in ${list(names)}`,
      },
    ],
  },
}

const strict = (form: string): string => `strict-${form}`
const naming = (form: string, index: number): string => `naming-${form}-${index}`

const shared = useSharedGateway({
  users: ['ci'],
  policies: [
    allowEverything,
    {
      name: 'reads-any',
      namespace: [],
      rules: [{ id: 'views', effect: 'allow', subjects: { users: ['ci'] }, operations: ['ReadAnyTable'] }],
    },
    ...Object.entries(forms).flatMap(([form, { rules }]) => [
      { name: strict(form), namespace: [strict(form)], onDeny: 403 as const, rules: rules([]) },
      ...changes.map(([names], index) => ({
        name: naming(form, index),
        namespace: [naming(form, index)],
        onDeny: 403 as const,
        rules: rules(names),
      })),
    ]),
  ],
})

async function send([, path, body]: Change, namespace: string) {
  const within = (text: string): string => text.replaceAll('NS', () => namespace)
  const headers = { 'content-type': 'application/json' }
  const response = await shared.gateway.post(within(`/v1/${path}`), {
    as: 'ci',
    ...(body && { body: within(JSON.stringify(body)), headers }),
  })
  return { response, arrived: shared.upstream.requests.splice(0).length }
}

const named = (list: readonly Change[]) => list.map((change) => ({ what: change[0], change }))
const ofTables = changes.map(([names, ...change], index) => ({ what: change[0], names, change, index }))

describe.each(Object.keys(forms))('by a rule of the form %s', (form) => {
  it.each(ofTables)('$what is denied', async ({ names, change }) => {
    const { response, arrived } = await send(change, strict(form))
    const says = new RegExp(`not allowed (?:${names.join('|')})\\b`)
    expectError(response, { kind: 'PermissionDenied', says })
    expect(arrived).toBe(0)
  })

  it.each(ofTables)('$what is allowed if it names it', async ({ change, index }) => {
    const { response, arrived } = await send(change, naming(form, index))
    expect([response.status, arrived], String(response.bytes)).toEqual([200, 1])
  })

  it.each(named(ofOneBranch))('$what of one branch is allowed', async ({ change }) => {
    const { response, arrived } = await send(change, strict(form))
    expect([response.status, arrived], String(response.bytes)).toEqual([200, 1])
  })

  it.each(named(ofMain))('$what of main', async ({ change }) => {
    const { response, arrived } = await send(change, strict(form))
    const isAllowed = forms[form]?.protectsMain === false
    expect([response.status, arrived], String(response.bytes)).toEqual(isAllowed ? [200, 1] : [403, 0])
  })
})
