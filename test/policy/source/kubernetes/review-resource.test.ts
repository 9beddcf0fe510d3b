import { expect, it } from 'vitest'
import type { AdmissionRequest } from '../../../../src/lib/kubernetes/admission-review.ts'
import { builtInVocabulary } from '../../../../src/policy/language/policy-vocabulary.ts'
import { createResourceReviewer } from '../../../../src/policy/source/kubernetes/review-resource.ts'

const limits = { maxPolicies: 10, maxPolicyBytes: 10_000, maxConditions: 10 }
const nobody = { issuers: [], users: [], groups: [], keys: [], any: false, anonymous: false }

const review = createResourceReviewer({
  vocabulary: builtInVocabulary,
  namespaces: [
    { platform: true, name: 'platform' },
    {
      ...limits,
      platform: false,
      name: 'team-a',
      uid: 'a',
      catalogNamespaces: [['prod', 'sales']],
      subjects: { ...nobody, groups: ['analysts', 'Analysts'] },
      additionalPermissions: [],
    },
    {
      ...limits,
      platform: false,
      name: 'team-b',
      uid: 'b',
      catalogNamespaces: [['prod', 'secret-project']],
      subjects: { ...nobody, groups: ['secret-group'] },
      additionalPermissions: ['RegisterTable'],
    },
  ],
})

/** A request to create a policy as API servers send it: without a resourceVersion. */
function create(
  namespace: string,
  fields: object,
  rule: object = {},
  metadata: object = {},
): AdmissionRequest {
  const assigned = { uid: 'u', generation: 1, creationTimestamp: '2026-01-01T00:00:00Z' }
  return {
    uid: 'request',
    namespace,
    operation: 'CREATE',
    object: {
      apiVersion: 'catalog-gateway.dev/v1',
      kind: 'AccessPolicy',
      metadata: { name: 'p', namespace, ...assigned, ...metadata },
      namespace: ['prod', 'sales'],
      rules: [
        { id: 'r', effect: 'allow', subjects: { groups: ['analysts'] }, operations: ['read'], ...rule },
      ],
      ...fields,
    },
  }
}

it.each<[what: string, request: AdmissionRequest]>([
  ['a valid policy', create('team-a', {})],
  ['a policy of the platform beyond all delegations', create('platform', { namespace: [] })],
  ['a deletion', { ...create('team-a', {}), operation: 'DELETE', object: null }],
  [
    'an invalid policy that is being deleted',
    create('team-a', { namespace: [7] }, {}, { deletionTimestamp: '2026-01-02T00:00:00Z' }),
  ],
])('%s is admitted', async (_what, request) => {
  expect(await review(request)).toEqual({ refusal: undefined, warnings: [] })
})

it.each<[what: string, refusal: RegExp, request: AdmissionRequest]>([
  [
    'an unknown operation',
    /^rules\[0\]\.operations\[0\].*"raed"/,
    create('team-a', {}, { operations: ['raed'] }),
  ],
  ['an invalid condition', /^rules\[0\]\.when/, create('platform', {}, { when: 'client.adress == "a"' })],
  [
    'another namespace of the catalog',
    /^namespace: /,
    create('team-a', { namespace: ['prod', 'secret-project'] }),
  ],
  [
    'another group',
    /^rules\[0\]\.subjects\.groups/,
    create('team-a', {}, { subjects: { groups: ['secret-group'] } }),
  ],
  [
    'an operation of another delegation',
    /^rules\[0\]\.operations.*RegisterTable/,
    create('team-a', {}, { operations: ['RegisterTable'] }),
  ],
  ['a deny', /only grant/, create('team-a', {}, { effect: 'deny' })],
  ['too many bytes', /at most 10000/, create('team-a', { padding: 'a'.repeat(10_000) })],
])('%s is refused with the path of the field', async (_what, refusal, request) => {
  expect(await review(request)).toEqual({ refusal: expect.stringMatching(refusal) as string, warnings: [] })
})

it('warns of likely mistakes in the document alone', async () => {
  const { refusal, warnings } = await review(
    create('team-a', {}, { subjects: { groups: ['analysts', 'Analysts'] } }),
  )
  expect(refusal).toBeUndefined()
  expect(warnings).toEqual([expect.stringMatching(/^look-alike: the group "Analysts" looks like "analysts"/)])
})

it('warns that the gateway does not use policies of another Kubernetes namespace', async () => {
  expect(await review(create('elsewhere', { namespace: [7] }))).toEqual({
    refusal: undefined,
    warnings: ['the gateway of this webhook uses no policies of the Kubernetes namespace elsewhere'],
  })
})

it('shows nothing of other delegations', async () => {
  for (const fields of [{ namespace: ['prod'] }, { namespace: [] }, { rules: 'all' }]) {
    const { refusal } = await review(create('team-a', fields, { subjects: { any: true } }))
    expect(refusal).toBeDefined()
    expect(refusal).not.toMatch(/secret|team-b|platform\b(?! restricts)/)
  }
})

it('lists no more than 20 errors', async () => {
  const operations = Array.from({ length: 30 }, (_, index) => `raed${index}`)
  const { refusal } = await review(create('team-a', {}, { operations }))
  expect(refusal?.split('\n')).toHaveLength(21)
  expect(refusal).toMatch(/\nand 10 more$/)
})

it('answers reviews that come at once', async () => {
  const requests = [create('team-a', {}), create('team-a', { namespace: [] }), create('platform', {})]
  const results = await Promise.all(requests.map(review))
  expect(results.map(({ refusal }) => refusal === undefined)).toEqual([true, false, true])
})
