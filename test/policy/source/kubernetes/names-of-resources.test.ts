import { expect, it } from 'vitest'
import { compilePolicies } from '../../../../src/policy/policy-set.ts'
import { createAuthorizationRequest, createCaller, parseDocuments } from '../../policy-builder.ts'
import { createDelegation, createResource, grant, review, platform } from './reviewed-resources.ts'

const all = { id: 'all', effect: 'deny' as const, subjects: { any: true as const }, operations: ['all'] }

function documentsOf(...reviews: Awaited<ReturnType<typeof review>>) {
  return reviews.flatMap(({ documents }) => documents ?? [])
}

function decide(documents: ReturnType<typeof documentsOf>) {
  const id = ['prod', 'sales']
  const request = createAuthorizationRequest(createCaller('alice', 'sales'), 'ListTables', 'namespace', id)
  return compilePolicies(documents).decide(request)
}

it('a resource with the name of a file or of a resource elsewhere replaces neither', async () => {
  const files = parseDocuments([{ name: 'p', namespace: ['prod'], rules: [all] }])
  const documents = [
    ...files,
    ...documentsOf(...(await review(platform, createResource('p', grant, { namespace: 'catalog-system' })))),
    ...documentsOf(...(await review(createDelegation(), createResource('p', grant)))),
  ]
  expect(documents.map(({ name, file }) => [name, file])).toEqual([
    ['p', 'policies.yaml'],
    ['catalog-system/p', 'accesspolicies/catalog-system/p'],
    ['team-a/p', 'accesspolicies/team-a/p'],
  ])
  expect(decide(documents)).toMatchObject({ allowed: false, reason: 'denied', rule: { policy: 'p' } })
})

it('no name of a resource is that of another in a different Kubernetes namespace', async () => {
  const [reviewed] = await review(platform, createResource('a/b', grant, { namespace: 'x' }))
  expect(reviewed).toMatchObject({ reason: 'Invalid' })
})

it('a delegated grant is named with its resource and the line of its rule there', async () => {
  const delegated = documentsOf(...(await review(createDelegation(), createResource('p', grant))))
  expect(decide(delegated)).toMatchObject({
    allowed: true,
    rule: { policy: 'team-a/p', rule: 'reads', file: 'accesspolicies/team-a/p', line: 14 },
  })
})
