import fc from 'fast-check'
import { expect, it } from 'vitest'
import {
  noFacts,
  type OperationFacts,
  pending,
} from '../../../src/policy/conditions/authorization-request.ts'
import { loadPolicies, withShadow, type ShadowDifference } from '../../../src/policy/source/load-policies.ts'
import { arbitraryPolicies, arbitraryRequest } from '../policy-arbitraries.ts'
import { readerPolicy, writeFiles } from './policy-folder.ts'
import { watch } from './watched-folders.ts'
import { createAuthorizationRequest, createCaller, compilePolicySet } from '../policy-builder.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const unread: OperationFacts = { ...noFacts, branch: pending, metadata: pending }
const mayList = (user: string) =>
  createAuthorizationRequest(createCaller(user), 'ListTables', 'namespace', ['a'])
const asShadow = (text: string): string => text.replace('namespace:', 'mode: shadow\nnamespace:')

it('a candidate changes no decision, and every difference is reported once', () => {
  fc.assert(
    fc.property(
      arbitraryPolicies,
      arbitraryPolicies,
      fc.array(arbitraryRequest, { maxLength: 5 }),
      (written, other, requests) => {
        const [live, candidate] = [compilePolicySet(written), compilePolicySet(other)]
        const reported: ShadowDifference[] = []
        const both = withShadow(live, candidate, (difference) => reported.push(difference))
        for (const request of requests) {
          reported.splice(0)
          expect(both.decide(request)).toEqual(live.decide(request))
          const differs = live.decide(request).allowed !== candidate.decide(request).allowed
          expect(reported.map((difference) => difference.request)).toEqual(differs ? [request] : [])

          reported.splice(0)
          const beforeBody = { ...request, operation: unread }
          expect(both.decidePartially(beforeBody)).toEqual(live.decidePartially(beforeBody))
          const allowed = live.decidePartially(beforeBody)?.allowed
          const isReported =
            allowed !== undefined && allowed !== candidate.decidePartially(beforeBody)?.allowed
          expect(reported).toHaveLength(isReported ? 1 : 0)
        }
      },
    ),
    { numRuns: 100 },
  )
})

it('a policy with mode shadow decides nothing, and its differences are reported', async () => {
  const folder = await temporaryFolder()
  await writeFiles(folder, {
    'a.yaml': readerPolicy('a', 'alice'),
    'b.yaml': asShadow(readerPolicy('b', 'robin')),
  })
  const reported: ShadowDifference[] = []
  const { source } = await watch([folder], { onShadowDifference: (difference) => reported.push(difference) })
  const set = source.current()
  expect([set.decide(mayList('alice')).allowed, set.decide(mayList('robin')).allowed]).toEqual([true, false])
  expect(reported).toMatchObject([
    { live: { allowed: false }, candidate: { allowed: true, rule: { policy: 'b' } } },
  ])
})

it('a policy with mode shadow does not affect the revision, and its name must be unique', async () => {
  const folder = await temporaryFolder()
  await writeFiles(folder, { 'a.yaml': readerPolicy('a', 'alice') })
  const before = await loadPolicies([folder])
  await writeFiles(folder, { 'b.yaml': asShadow(readerPolicy('b', 'robin')) })
  const { set, withShadowPolicies } = await loadPolicies([folder])
  expect([set.revision, set.documents.length]).toEqual([before.set.revision, 1])
  expect(withShadowPolicies.documents).toHaveLength(2)

  await writeFiles(folder, { 'b.yaml': asShadow(readerPolicy('a', 'robin')) })
  await expect(loadPolicies([folder])).rejects.toThrow('duplicate policy name "a", also in a.yaml:3')
})
