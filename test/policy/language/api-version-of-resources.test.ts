import { expect, it } from 'vitest'
import { parse, stringify } from 'yaml'
import { parsePolicies } from '../parse-policies.ts'

function policy(metadata: string, apiVersion = 'catalog-gateway.dev/v1'): string {
  return `apiVersion: ${apiVersion}
kind: AccessPolicy
metadata: ${metadata}
namespace: [a]
rules:
  - { id: r, effect: allow, subjects: { any: true }, operations: [read] }
`
}

it('a file may have the API version of resources and metadata of the Kubernetes API, and then means the same', () => {
  const metadata =
    '{ name: p, labels: { team: sales }, generation: 3, managedFields: [{ manager: kubectl }] }'
  const resource = parsePolicies(policy(metadata), 'p.yaml')
  expect(resource).toEqual(parsePolicies(policy('{ name: p }', 'catalog-gateway/v1'), 'p.yaml'))
  expect(resource).toMatchObject({ documents: [{ name: 'p', line: 3, column: 19 }], problems: [] })
})

it('a file may hold what kubectl prints of several, whose names begin with their Kubernetes namespaces', () => {
  const items = ['team-a', 'team-b'].map((namespace) => ({
    ...(parse(policy(`{ name: readers, namespace: ${namespace}, uid: u, generation: 1 }`)) as object),
    status: { conditions: [{ type: 'Accepted' }] },
  }))
  const list = { apiVersion: 'v1', kind: 'List', metadata: { resourceVersion: '' }, items }
  expect(parsePolicies(stringify(list), 'now.yaml')).toMatchObject({
    documents: [{ name: 'team-a/readers' }, { name: 'team-b/readers' }],
    problems: [],
  })
})

it.each([
  ['{}', 'metadata.name is missing; expected text'],
  ['{ name: 7 }', 'metadata.name is 7; expected text: put it in quotes'],
])('metadata that is refused: %s', (metadata, message) => {
  expect(parsePolicies(policy(metadata), 'p.yaml').problems).toMatchObject([{ message }])
})
