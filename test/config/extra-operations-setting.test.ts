import { describe, expect, it } from 'vitest'
import { upstreamSchema, upstreamsSchema } from '../../src/config/upstream/upstream-settings.ts'

const url = 'http://catalog.example'
const prewarm = { name: 'PrewarmTable', path: '/v1/table/{id}/file_cache/prewarm' }

function problemsOf(...extraOperations: readonly object[]): readonly string[] {
  const issues = upstreamSchema.safeParse({ url, extraOperations }).error?.issues ?? []
  return issues.map(({ path, message }) => `${path.slice(1).join('.')}: ${message}`)
}

function problemsOfTwo(one: object, other: object): readonly string[] {
  const written = [
    { url, name: 'one', extraOperations: [one] },
    { url, name: 'two', namespaces: [['two']], extraOperations: [other] },
  ]
  const issues = upstreamsSchema.safeParse(written).error?.issues ?? []
  return issues.map(({ path, message }) => `${path.join('.')}: ${message}`)
}

it('an extra operation is a change of no group with a JSON body, unless it is declared otherwise', () => {
  expect(upstreamSchema.parse({ url, extraOperations: [prewarm] }).extraOperations).toEqual([
    {
      ...prewarm,
      method: 'POST',
      effect: 'change',
      query: {},
      idMembers: {},
      members: [],
      body: 'json',
      response: 'json',
    },
  ])
})

describe('the settings refuse', () => {
  it.each([
    ['a name of the catalog API', { name: 'QueryTable' }, '0.name: the name QueryTable is taken'],
    ['a group as name', { name: 'admin' }, '0.name: "admin" is not a name; expected a capital letter'],
    [
      'a known path',
      { path: '/v1/table/{id}/query' },
      '0.path: a request for /v1/table/{id}/query could be one for QueryTable (/v1/table/{id}/query)',
    ],
    ['an unknown method', { method: 'PUT' }, '0.method: Invalid option'],
    ['a GET with a body', { method: 'GET' }, '0.body: expected none for the method GET'],
    [
      'a change among reads',
      { group: 'browse' },
      '0.group: the group browse holds reads only; expected effect: read',
    ],
    ['the group all', { group: 'all' }, '0.group: Invalid option'],
    [
      'a parameter that states a fact',
      { query: { branch: 'string' } },
      '0.query.branch: the name is that of a fact',
    ],
    [
      'it in another spelling',
      { query: { 'Storage-Options': 'string' } },
      '0.query.Storage-Options: the name is that of a fact',
    ],
    ['the delimiter', { query: { delimiter: 'string' } }, '0.query.delimiter: the name is that of a fact'],
    [
      'a credential',
      { query: { access_token: 'string' } },
      '0.query.access_token: the name is that of a fact',
    ],
    ['a malformed parameter', { query: { 'a b': 'string' } }, '0.query.a b: expected a letter'],
    ['an unknown type', { query: { dry_run: 'flag' } }, '0.query.dry_run: Invalid option'],
    [
      'an id in a member that states one elsewhere',
      { idMembers: { target: 'CreateTable', id: 'CreateTable' } },
      '0.idMembers.id: the name is that of a fact',
    ],
    [
      'two members that some catalogs read as one',
      { idMembers: { target_id: 'CreateTable', targetId: 'QueryTable' } },
      '0.idMembers.targetId: some catalogs read targetId as target_id',
    ],
    [
      'a query parameter of that name',
      { idMembers: { target_id: 'CreateTable' }, query: { 'target-id': 'string' } },
      '0.idMembers.target_id: some catalogs read target_id as target-id',
    ],
    [
      'an id in a body that is not JSON',
      { idMembers: { target: 'CreateTable' }, body: 'arrow' },
      '0.idMembers.target: expected no members in a body of the form arrow',
    ],
    [
      'a batch as permission',
      { idMembers: { target: 'BatchCommitTables' } },
      '0.idMembers.target: Invalid option',
    ],
    ['an unknown member', { facts: {} }, 'Unrecognized key'],
  ])('%s', (_what, change, says) => {
    expect(problemsOf({ ...prewarm, ...change }).join('\n')).toContain(says)
  })

  it('a name that is declared twice', () => {
    const other = { ...prewarm, path: '/v1/table/{id}/warm' }
    expect(problemsOf(prewarm, other)).toEqual(['1.name: PrewarmTable is declared twice'])
  })

  it('paths that one request could match both', () => {
    const other = { name: 'WarmTable', path: '/v1/table/{id}/file-cache/prewarm/' }
    expect(problemsOf(prewarm, other)).toEqual([
      '1.path: a request for /v1/table/{id}/file-cache/prewarm/ could be one for PrewarmTable of the upstream "catalog"; ' +
        'expected another path, or the name PrewarmTable',
    ])
    expect(problemsOfTwo(prewarm, other)).toMatchObject([
      expect.stringContaining('1.extraOperations.0.path: a request for'),
    ])
  })

  it('one name with two declarations', () => {
    expect(problemsOfTwo(prewarm, { ...prewarm, method: 'POST' })).toEqual([])
    expect(problemsOfTwo(prewarm, { ...prewarm, effect: 'read' })).toEqual([
      '1.extraOperations.0.name: PrewarmTable differs from PrewarmTable of the upstream "one"; expected equal ' +
        'declarations, or another name',
    ])
  })
})
