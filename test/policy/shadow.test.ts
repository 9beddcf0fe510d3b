import fc from 'fast-check'
import { expect, it } from 'vitest'
import { readPolicies, watchPolicies } from '../../src/policy/folder.ts'
import { pending } from '../../src/policy/fact.ts'
import { policyFolder } from '../../src/policy/policy-place.ts'
import { noFacts, type OperationFacts } from '../../src/policy/question.ts'
import { shadowed, type ShadowDifference } from '../../src/policy/shadow.ts'
import { policies, question } from './generated-policies.ts'
import { readerPolicy, temporaryFolder, writeFiles } from './temporary-folder.ts'
import { ask, caller, setOf } from './written-policy.ts'

const unread: OperationFacts = { ...noFacts, branch: pending, metadata: pending }
const mayList = (user: string) => ask(caller(user), 'ListTables', 'namespace', ['a'])
const asShadow = (text: string): string => text.replace('namespace:', 'mode: shadow\nnamespace:')

it('a candidate changes no decision, and every difference from it is told once', () => {
  fc.assert(
    fc.property(policies, policies, fc.array(question, { maxLength: 5 }), (written, other, questions) => {
      const [live, candidate] = [setOf(written), setOf(other)]
      const told: ShadowDifference[] = []
      const both = shadowed(live, candidate, (difference) => told.push(difference))
      for (const question of questions) {
        told.splice(0)
        expect(both.decide(question)).toEqual(live.decide(question))
        const differs = live.decide(question).allowed !== candidate.decide(question).allowed
        expect(told.map(({ question }) => question)).toEqual(differs ? [question] : [])

        told.splice(0)
        const early = { ...question, operation: unread }
        expect(both.foresee(early)).toEqual(live.foresee(early))
        const foreseen = live.foresee(early)?.allowed
        const isTold = foreseen !== undefined && foreseen !== candidate.foresee(early)?.allowed
        expect(told).toHaveLength(isTold ? 1 : 0)
      }
    }),
    { numRuns: 100 },
  )
})

it('a policy with mode shadow decides nothing, and what it would change is told', async () => {
  const folder = await temporaryFolder()
  await writeFiles(folder, {
    'a.yaml': readerPolicy('a', 'alice'),
    'b.yaml': asShadow(readerPolicy('b', 'robin')),
  })
  const told: ShadowDifference[] = []
  const source = await watchPolicies(policyFolder(folder), {
    shadowDiffers: (difference) => told.push(difference),
  })
  source.close()
  const set = source.current()
  expect([set.decide(mayList('alice')).allowed, set.decide(mayList('robin')).allowed]).toEqual([true, false])
  expect(told).toMatchObject([
    { live: { allowed: false }, candidate: { allowed: true, rule: { policy: 'b' } } },
  ])
})

it('a policy with mode shadow has no part in the revision, and takes no name twice', async () => {
  const folder = await temporaryFolder()
  await writeFiles(folder, { 'a.yaml': readerPolicy('a', 'alice') })
  const before = await readPolicies(folder)
  await writeFiles(folder, { 'b.yaml': asShadow(readerPolicy('b', 'robin')) })
  const { set, documents, withShadows } = await readPolicies(folder)
  expect([set.revision, set.size, documents.length]).toEqual([before.set.revision, 1, 1])
  expect([withShadows.set.size, withShadows.documents.length]).toEqual([2, 2])

  await writeFiles(folder, { 'b.yaml': asShadow(readerPolicy('a', 'robin')) })
  await expect(readPolicies(folder)).rejects.toThrow('duplicate policy name "a", also in a.yaml:3')
})
