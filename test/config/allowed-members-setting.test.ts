import { describe, expect, it } from 'vitest'
import { upstreamSchema } from '../../src/config/upstream/upstream-settings.ts'

const url = 'http://catalog.example'
const reserved = 'the catalog API has a parameter, member, fact or credential of this name'

function problemsOf(allowedMembers: object): readonly string[] {
  const issues = upstreamSchema.safeParse({ url, allowedMembers }).error?.issues ?? []
  return issues.map(({ path, message }) => `${path.slice(1).join('.')}: ${message}`)
}

it('no members are allowed by default', () => {
  expect(upstreamSchema.parse({ url }).allowedMembers).toEqual({})
})

it.each([
  ['members at the top', { DescribeTable: ['comment', 'x_note', 'Trace-2'] }],
  ['a member of the objects of a list', { AlterTableAddColumns: ['new_columns.comment'] }],
  ['a member of an object in them', { AlterTableAddColumns: ['new_columns.virtual_column.comment'] }],
  ['a member of a function of columns', { AlterTableAddColumns: ['function.application.hint'] }],
  ['a member of an object', { ExplainTableQueryPlan: ['query.comment', 'query.vector.comment'] }],
  ['a member beside an object of that name', { ExplainTableQueryPlan: ['query.hint', 'hint'] }],
  ['a member of one form of a value', { QueryTable: ['vector.comment'] }],
  ['a member of the entries of a batch', { BatchCommitTables: ['operations.declare_table.comment'] }],
  ['one name in two operations', { DropTable: ['comment'], DropNamespace: ['comment'] }],
])('the settings accept %s', (_what, allowedMembers) => {
  expect(upstreamSchema.parse({ url, allowedMembers }).allowedMembers).toEqual(allowedMembers)
})

describe('the settings refuse', () => {
  it.each<[what: string, allowedMembers: object, says: string]>([
    [
      'an unknown operation',
      { DescribeTabel: ['comment'] },
      'DescribeTabel: "DescribeTabel" is not an operation of the catalog API; did you mean "DescribeTable"?',
    ],
    [
      'an operation in another case',
      { describetable: ['comment'] },
      'describetable: "describetable" is not an operation of the catalog API; did you mean "DescribeTable"?',
    ],
    [
      'a permission',
      { ReadAnyTable: ['comment'] },
      'ReadAnyTable: "ReadAnyTable" is not an operation of the catalog API',
    ],
    [
      'an operation with an Arrow body',
      { InsertIntoTable: ['comment'] },
      'InsertIntoTable: InsertIntoTable has no JSON body',
    ],
    ['an empty list', { DescribeTable: [] }, 'DescribeTable: Too small'],
    ['a name alone', { DescribeTable: 'comment' }, 'DescribeTable: Invalid input: expected array'],
    [
      'a path whose object does not exist',
      { AlterTableAddColumns: ['columns.comment'] },
      'AlterTableAddColumns.0: "columns.comment": AlterTableAddColumns has no such object in its body; expected a parent that it has',
    ],
    [
      'a path below text',
      { AlterTableAddColumns: ['new_columns.name.comment'] },
      'AlterTableAddColumns.0: "new_columns.name.comment": AlterTableAddColumns has no such object in its body',
    ],
    [
      'a path below a value that may be any JSON',
      { AlterTableAddColumns: ['function.application.inputs.value.x'] },
      'AlterTableAddColumns.0: "function.application.inputs.value.x": AlterTableAddColumns has no such object in its body',
    ],
    [
      'a path below an allowed member',
      { DescribeTable: ['comment', 'comment.author'] },
      'DescribeTable.1: "comment.author": DescribeTable has no such object in its body',
    ],
    [
      'a member that the operation has',
      { AlterTableAddColumns: ['new_columns.name'] },
      'AlterTableAddColumns.0: "new_columns.name": AlterTableAddColumns has this member already; omit it',
    ],
    [
      'a path that is listed twice',
      { DescribeTable: ['comment', 'note', 'comment'] },
      'DescribeTable.2: "comment": it is listed twice',
    ],
    ...['', '.', 'comment.', '.comment', 'a..b', 'new_columns[].comment', '*', '2nd', 'a b', 'x\0', 'é'].map(
      (path): [string, object, string] => [
        `the path ${JSON.stringify(path)}`,
        { AlterTableAddColumns: [path] },
        `AlterTableAddColumns.0: ${JSON.stringify(path)}: expected names of letters, digits, "-" and "_", joined by dots`,
      ],
    ),
  ])('%s', (_what, allowedMembers, says) => {
    expect(problemsOf(allowedMembers)).toEqual([expect.stringContaining(says)])
  })

  it.each([
    'branch',
    'new-namespace-id',
    'newNamespaceId',
    'overwrite',
    'Cascade',
    'predicate',
    'vendCredentials',
    'x-catalog-branch',
    'delimiter',
    'token',
    'authToken',
    'client_secret',
    'signature',
    'api-key',
    'user',
    'uri',
  ])('the reserved name %s, at the top and nested', (name) => {
    const allowedMembers = { DescribeNamespace: [name], AlterTableAddColumns: [`new_columns.${name}`] }
    expect(problemsOf(allowedMembers)).toEqual([
      `DescribeNamespace.0: ${JSON.stringify(name)}: ${reserved}, which the gateway must check`,
      `AlterTableAddColumns.0: ${JSON.stringify(`new_columns.${name}`)}: ${reserved}, which the gateway must check`,
    ])
  })
})
