import type { Permission } from '../../src/interface/permissions.ts'
import type { ObjectKind } from '../../src/interface/operations.ts'
import type { Principal } from '../../src/identity/principal.ts'
import { parsePolicies } from '../../src/policy/documents.ts'
import { compilePolicies, type PolicySet } from '../../src/policy/trie.ts'

/** A rule as a user writes it. */
export interface WrittenRule {
  readonly id: string
  readonly effect: 'allow' | 'deny'
  readonly subjects: {
    readonly users?: readonly string[]
    readonly groups?: readonly string[]
    readonly any?: true
  }
  readonly operations: readonly string[]
  readonly tables?: readonly string[]
}

/** A policy as a user writes it, less what is the same in all of them. */
export interface WrittenPolicy {
  readonly name: string
  readonly namespace: readonly string[]
  readonly inherit?: boolean
  readonly rules: readonly WrittenRule[]
}

/** A question to the policies. */
export interface Question {
  readonly principal: Principal
  readonly permission: Permission
  readonly kind: ObjectKind
  readonly id: readonly string[]
}

/** The YAML text of policies. */
export function textOf(policies: readonly WrittenPolicy[]): string {
  return policies
    .map(({ name, ...rest }) =>
      JSON.stringify({ apiVersion: 'catalog-gateway/v1', kind: 'AccessPolicy', metadata: { name }, ...rest }),
    )
    .join('\n---\n')
}

/** The policies, parsed and compiled as if they stood in one file. */
export function setOf(policies: readonly WrittenPolicy[]): PolicySet {
  const { documents, problems } = parsePolicies(textOf(policies), 'policies.yaml')
  if (problems.length > 0) throw new Error(JSON.stringify(problems))
  return compilePolicies(documents)
}

/** A caller with an API key. */
export function caller(name: string, ...groups: readonly string[]): Principal {
  return { name, method: 'api-key', groups: new Set(groups), credentialId: 'k1' }
}
