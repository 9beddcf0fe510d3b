import fc from 'fast-check'
import { expect, it } from 'vitest'
import { isThorough } from '../../support/thorough.ts'
import { createAuthorizationRequest, createCaller, compilePolicySet } from '../policy-builder.ts'

// Short names over few letters, so that some share a slot of the hash table.
const name = fc.string({
  unit: fc.constantFrom('a', 'b', 'c', '\u00e9', '\ud83d\ude00'),
  minLength: 1,
  maxLength: 4,
})
const path = fc.array(name, { minLength: 1, maxLength: 3 })

it('decides by the policy of the nearest of many namespaces', () => {
  const ann = createCaller('ann')
  fc.assert(
    fc.property(
      fc.uniqueArray(path, { minLength: 100, maxLength: 300, selector: (path) => path.join('/') }),
      fc.array(path, { minLength: 300, maxLength: 300 }),
      (namespaces, others) => {
        const set = compilePolicySet(
          namespaces.map((namespace, index) => ({
            name: `p${index}`,
            namespace,
            rules: [
              {
                id: 'reads',
                effect: 'allow',
                subjects: { users: ['ann'] },
                operations: ['DescribeNamespace'],
              },
            ],
          })),
        )
        const policies = new Map(namespaces.map((namespace, index) => [namespace.join('/'), `p${index}`]))
        for (const id of [...namespaces, ...others]) {
          const above = id.map((_, index) => id.slice(0, id.length - index).join('/'))
          const expected = above.map((path) => policies.get(path)).find((found) => found !== undefined)
          const { rule } = set.decide(createAuthorizationRequest(ann, 'DescribeNamespace', 'namespace', id))
          expect(rule?.policy, id.join('/')).toBe(expected)
        }
      },
    ),
    { numRuns: isThorough ? 50 : 3 },
  )
})
