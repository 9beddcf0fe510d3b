import fc from 'fast-check'
import { expect, it } from 'vitest'
import { permissionsOfHead } from '../../src/gateway/needed-permissions.ts'
import type { Matched } from '../../src/gateway/context.ts'
import { factTypes } from '../../src/interface/facts.ts'
import { operationNamed, operationNames } from '../../src/interface/operations.ts'
import { asksElsewhere, furtherPermissions, knownFacts } from '../../src/policy/operation-facts.ts'

const values = {
  word: fc.constantFrom('overwrite', 'cascade', 'create'),
  text: fc.constant('u'),
  branch: fc.constantFrom('main', 'ci/7'),
  tag: fc.constant('v1'),
  names: fc.constant(['b']),
  map: fc.constant(new Map([['k', 'v']])),
  flag: fc.boolean(),
}

it.each([...operationNames])('%s may need every permission that some request for it needs', (name) => {
  const operation = operationNamed(name)
  const id = ['a', 't']
  const stated = fc.record(
    Object.fromEntries(operation.facts.map(([fact]) => [fact, values[factTypes[fact]]])),
    { requiredKeys: [] },
  )
  const possible = new Set(furtherPermissions(operation))
  fc.assert(
    fc.property(stated, (facts) => {
      const request = { route: { operation, id } } as unknown as Matched
      const [, ...further] = permissionsOfHead(request, knownFacts(facts))
      for (const need of further.filter(({ otherwise }) => otherwise !== 'withheld')) {
        const isElsewhere = need.beneath === true || need.id.join() !== id.join()
        if (isElsewhere) expect(asksElsewhere(operation)).toBe(true)
        else expect(possible).toContain(need.permission)
      }
    }),
  )
})
