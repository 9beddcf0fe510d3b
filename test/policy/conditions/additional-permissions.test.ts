import fc from 'fast-check'
import { expect, it } from 'vitest'
import { listHeadPermissions } from '../../../src/gateway/authorization/list-required-permissions.ts'
import type { Matched } from '../../../src/gateway/context.ts'
import { factTypes } from '../../../src/catalog-api/facts.ts'
import { getOperation, operationNames } from '../../../src/catalog-api/operations.ts'
import {
  getRequirements,
  isOnOwnObject,
  mayRequireOtherObjects,
} from '../../../src/catalog-api/requirements.ts'

const values = {
  word: fc.constantFrom('overwrite', 'cascade', 'create'),
  text: fc.constant('u'),
  branch: fc.constantFrom('main', 'ci/7'),
  tag: fc.constant('v1'),
  names: fc.constant(['b']),
  map: fc.constant(new Map([['k', 'v']])),
  flag: fc.boolean(),
}

it.each([...operationNames])('lists every permission that a %s request may require', (name) => {
  const operation = getOperation(name)
  const id = ['a', 't']
  const stated = fc.record(
    Object.fromEntries(operation.facts.map(([fact]) => [fact, values[factTypes[fact]]])),
    { requiredKeys: [] },
  )
  const onOwnObject = getRequirements(operation).filter(({ on }) => isOnOwnObject(on))
  const possible = new Set(onOwnObject.map(({ permission }) => permission))
  fc.assert(
    fc.property(stated, (facts) => {
      const request = { route: { operation, id, parameters: new Map() } } as unknown as Matched
      const [, ...further] = listHeadPermissions(request, { stated: facts })
      for (const permission of further.filter(({ fallback }) => fallback !== 'withheld')) {
        const isElsewhere = permission.includesSubtree === true || permission.id.join() !== id.join()
        if (isElsewhere) expect(mayRequireOtherObjects(operation)).toBe(true)
        else expect(possible).toContain(permission.permission)
      }
    }),
  )
})
