import { expect, it } from 'vitest'
import { lintWithShadowPolicies } from '../../../../src/policy/analysis/lint/lint-policies.ts'
import { compileContents } from '../../../../src/policy/source/load-policies.ts'
import { type WrittenPolicy, parseDocuments } from '../../policy-builder.ts'

const allow = (id: string, operations: readonly string[]) => ({
  id,
  effect: 'allow' as const,
  subjects: { users: ['ann'] },
  operations,
})

/** The rules with findings. */
function lint(...policies: readonly WrittenPolicy[]): readonly string[] {
  const loaded = compileContents({ documents: parseDocuments(policies), tests: [] })
  return lintWithShadowPolicies(loaded).flatMap(({ check, policy, rule }) =>
    rule === undefined ? [] : [`${check} ${policy}/${rule}`],
  )
}

const enforced: WrittenPolicy = { name: 'enforced', namespace: ['a'], rules: [allow('r', ['read'])] }

it('a shadow policy is checked as if it were in force beside the others', () => {
  const shadow: WrittenPolicy = {
    name: 'shadow',
    mode: 'shadow',
    namespace: ['a', 'b'],
    rules: [allow('again', ['read']), allow('w', ['write']), allow('w-again', ['write'])],
  }
  expect(lint(enforced, shadow)).toEqual(['shadowed shadow/again', 'shadowed shadow/w-again'])
})

it('findings about policies in force do not depend on shadow policies', () => {
  const shadow: WrittenPolicy = {
    name: 'shadow',
    mode: 'shadow',
    namespace: [],
    rules: [allow('all', ['read'])],
  }
  expect(lint(enforced, shadow)).toEqual([])
  expect(lint(enforced, { ...shadow, mode: 'enforce' })).toEqual(['shadowed enforced/r'])
})
