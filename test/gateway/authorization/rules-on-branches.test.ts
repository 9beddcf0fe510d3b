import { expect, it } from 'vitest'
import type { WrittenRule } from '../../policy/policy-builder.ts'
import { expectError } from '../support/expect-error.ts'
import { allowEverything } from '../support/open-gateway.ts'
import { useSharedGateway } from '../support/running-gateway.ts'

// A change of a whole table affects every branch, so a rule on branches denies it unless the rule names it.

interface Change {
  readonly what: string
  readonly path: (namespace: string) => string
  readonly body?: (namespace: string) => object
  /** Operations that a rule must name to allow it. */
  readonly names: readonly string[]
}

const onTable = (action: string) => (namespace: string) => `/v1/table/${namespace}$t/${action}`
const on = (route: string, action: string) => (namespace: string) => `/v1/${route}/${namespace}/${action}`

const changes: readonly Change[] = [
  { what: 'DropTable', path: onTable('drop'), names: ['DropTable'] },
  { what: 'DeregisterTable', path: onTable('deregister'), names: ['DeregisterTable'] },
  {
    what: 'RegisterTable',
    path: onTable('register'),
    body: () => ({ location: 'lake/t' }),
    names: ['RegisterTable', 'ChooseLocation'],
  },
  {
    what: 'RegisterTable Overwrite',
    path: onTable('register'),
    body: () => ({ location: 'lake/t', mode: 'Overwrite' }),
    names: ['RegisterTable', 'ChooseLocation', 'OverwriteTable'],
  },
  {
    what: 'RenameTable',
    path: onTable('rename'),
    body: (namespace) => ({ new_table_name: 'u', new_namespace_id: [namespace] }),
    names: ['RenameTable', 'CreateTable'],
  },
  {
    what: 'CreateTable Overwrite',
    path: onTable('create?mode=Overwrite'),
    names: ['OverwriteTable', 'CreateTable'],
  },
  {
    what: 'UpdateTable with properties',
    path: onTable('update'),
    body: () => ({ branch: 'ci/a', updates: [['id', '1']], properties: { owner: 'ann' } }),
    names: ['UpdateTable'],
  },
  {
    what: 'UpdateTableTag',
    path: onTable('tags/update'),
    body: () => ({ tag: 'v1', version: 1, branch: 'ci/a' }),
    names: ['UpdateTableTag'],
  },
  {
    what: 'DeleteTableTag',
    path: onTable('tags/delete'),
    body: () => ({ tag: 'v1' }),
    names: ['DeleteTableTag'],
  },
  {
    what: 'CreateMaterializedView',
    path: (namespace) => `/v1/materialized_view/${namespace}$v/create`,
    body: () => ({ kind: 'query' }),
    names: ['CreateMaterializedView'],
  },
  {
    what: 'RefreshMaterializedView',
    path: (namespace) => `/v1/materialized_view/${namespace}$v/refresh`,
    names: ['RefreshMaterializedView'],
  },
  {
    what: 'AlterTransaction',
    path: (namespace) => `/v1/transaction/${namespace}$t$1/alter`,
    body: () => ({ actions: [{ setStatusAction: { status: 'Canceled' } }] }),
    names: ['AlterTransaction'],
  },
  {
    what: 'DropNamespace Cascade',
    path: on('namespace', 'drop'),
    body: () => ({ behavior: 'Cascade' }),
    names: ['DropTable', 'DropMaterializedView', 'DropView'],
  },
  {
    what: 'CreateNamespace Overwrite',
    path: on('namespace', 'create'),
    body: () => ({ mode: 'Overwrite' }),
    names: ['DropTable', 'DropMaterializedView', 'DropView'],
  },
  {
    what: 'an entry that deregisters',
    path: () => '/v1/table/batch-commit',
    body: (namespace) => ({
      operations: [
        { delete_table_versions: { id: [namespace, 't'], branch: 'ci/a', ranges: [] } },
        { deregister_table: { id: [namespace, 't'] } },
      ],
    }),
    names: ['DeregisterTable'],
  },
]

/** Changes of one branch that none of the rules below deny. */
const ofOneBranch: readonly Pick<Change, 'what' | 'path' | 'body'>[] = [
  { what: 'an overwrite of the rows', path: onTable('insert?mode=overwrite&branch=ci/a') },
  { what: 'an update', path: onTable('update'), body: () => ({ branch: 'ci/a', updates: [['id', '1']] }) },
  {
    what: 'a new tag',
    path: onTable('tags/create'),
    body: () => ({ tag: 'v2', version: 1, branch: 'ci/a' }),
  },
  {
    what: 'entries',
    path: () => '/v1/table/batch-commit',
    body: (namespace) => ({
      operations: [
        { delete_table_versions: { id: [namespace, 't'], branch: 'ci/a', ranges: [] } },
        {
          create_table_version: {
            id: [namespace, 't'],
            branch: 'ci/a',
            version: 2,
            manifest_path: 'lake/t/_versions/2',
          },
        },
      ],
    }),
  },
]

/** Changes of main, which the rules that protect it deny. */
const ofMain: readonly Pick<Change, 'what' | 'path' | 'body'>[] = [
  { what: 'an overwrite of the rows', path: onTable('insert?mode=overwrite') },
  {
    what: 'an entry that deletes versions',
    path: () => '/v1/table/batch-commit',
    body: (namespace) => ({ operations: [{ delete_table_versions: { id: [namespace, 't'], ranges: [] } }] }),
  },
  ...(['create_table_version', 'entries'] as const).map((member) => ({
    what: `an entry that commits a version: ${member}`,
    path: () => (member === 'entries' ? '/v1/table/version/batch-create' : '/v1/table/batch-commit'),
    body: (namespace: string) => {
      const entry = { id: [namespace, 't'], version: 2, manifest_path: 'lake/t/_versions/2' }
      return member === 'entries' ? { entries: [entry] } : { operations: [{ [member]: entry }] }
    },
  })),
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
      ...changes.map(({ names }, index) => ({
        name: naming(form, index),
        namespace: [naming(form, index)],
        onDeny: 403 as const,
        rules: rules(names),
      })),
    ]),
  ],
})

async function send({ path, body }: Pick<Change, 'path' | 'body'>, namespace: string) {
  const response = await shared.gateway.post(path(namespace), {
    as: 'ci',
    ...(body && { body: body(namespace) }),
  })
  return { response, arrived: shared.upstream.requests.splice(0).length }
}

const allForms = Object.keys(forms)

it.each(allForms.flatMap((form) => changes.map((change) => ({ form, ...change }))))(
  '$what is denied by a rule of the form $form',
  async ({ form, ...change }) => {
    const { response, arrived } = await send(change, strict(form))
    const says = new RegExp(`not allowed (?:${change.names.join('|')})\\b`)
    expectError(response, { kind: 'PermissionDenied', says })
    expect(arrived).toBe(0)
  },
)

it.each(allForms.flatMap((form) => changes.map((change, index) => ({ form, index, ...change }))))(
  '$what is allowed by a rule of the form $form that names it',
  async ({ form, index, ...change }) => {
    const { response, arrived } = await send(change, naming(form, index))
    expect([response.status, arrived], String(response.bytes)).toEqual([200, 1])
  },
)

it.each(allForms.flatMap((form) => ofOneBranch.map((change) => ({ form, ...change }))))(
  '$what of one branch is allowed by a rule of the form $form',
  async ({ form, ...change }) => {
    const { response, arrived } = await send(change, strict(form))
    expect([response.status, arrived], String(response.bytes)).toEqual([200, 1])
  },
)

it.each(allForms.flatMap((form) => ofMain.map((change) => ({ form, ...change }))))(
  '$what of main, under a rule of the form $form',
  async ({ form, ...change }) => {
    const { response, arrived } = await send(change, strict(form))
    const isAllowed = forms[form]?.protectsMain === false
    expect([response.status, arrived], String(response.bytes)).toEqual(isAllowed ? [200, 1] : [403, 0])
  },
)
