import { expect, it } from 'vitest'
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

function errors(text: string): string[] {
  return parsePolicies(text, 'p.yaml').problems.map(({ message }) => message)
}

it('a file may have the API version of resources, and then means the same', () => {
  const resource = parsePolicies(policy('{ name: p }'), 'p.yaml')
  expect(resource).toEqual(parsePolicies(policy('{ name: p }', 'catalog-gateway/v1'), 'p.yaml'))
  expect(resource.documents).toMatchObject([{ name: 'p', line: 3, column: 19 }])
})

it('metadata that the Kubernetes API adds is ignored', () => {
  const metadata = {
    annotations: { 'catalog-gateway.dev/description': 'Readers.' },
    creationTimestamp: '2026-01-01T00:00:00Z',
    finalizers: ['example.com/keep'],
    generation: 3,
    labels: { team: 'sales' },
    managedFields: [{ manager: 'kubectl' }],
    name: 'p',
    namespace: 'sales',
    ownerReferences: [{ kind: 'ConfigMap' }],
    resourceVersion: '17',
    uid: '7c1e',
  }
  const { documents, problems } = parsePolicies(policy(JSON.stringify(metadata)), 'p.yaml')
  expect(problems).toEqual([])
  expect(documents.map(({ name }) => name)).toEqual(['sales/p'])
})

it.each([
  [
    '{ name: p, description: Readers. }',
    'unknown field "metadata.description"; with apiVersion: catalog-gateway.dev/v1 it is the annotation "catalog-gateway.dev/description"',
  ],
  ['{ name: p, lables: {} }', 'unknown field "metadata.lables"; did you mean "labels"?'],
  ['{ name: p, annotations: { a: 1 } }', 'metadata.annotations.a is 1; expected text: put it in quotes'],
  ['{ name: p, namespace: [a] }', 'metadata.namespace is a list; expected text'],
  ['{}', 'metadata.name is missing; expected text'],
])('metadata of a resource that is refused: %s', (metadata, message) => {
  expect(errors(policy(metadata))).toEqual([message])
})

it.each(['namespace', 'labels', 'annotations'])('%s needs the API version of resources', (field) => {
  const [message, ...more] = errors(policy(`{ name: p, ${field}: {} }`, 'catalog-gateway/v1'))
  expect(message).toMatch(
    new RegExp(`^unknown field "metadata.${field}"; it .*needs apiVersion: catalog-gateway.dev/v1$`),
  )
  expect(more).toEqual([])
})

it('another version of either form is refused, with both in the message', () => {
  expect(errors(policy('{ name: p }', 'catalog-gateway.dev/v2'))).toEqual([
    'apiVersion is "catalog-gateway.dev/v2"; expected catalog-gateway/v1 or catalog-gateway.dev/v1; did you mean "catalog-gateway.dev/v1"?',
  ])
})
