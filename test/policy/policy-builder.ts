import type { Permission } from '../../src/catalog-api/permissions.ts'
import type { ObjectKind } from '../../src/catalog-api/operations.ts'
import type { Principal } from '../../src/identity/principal.ts'
import { parsePolicies } from '../../src/policy/language/parse-policies.ts'
import {
  noFacts,
  type OperationFacts,
  type AuthorizationRequest,
  type RequestFacts,
} from '../../src/policy/conditions/authorization-request.ts'
import type { ReportConditionFailure } from '../../src/policy/engine/rule-compiler.ts'
import { compilePolicies, type PolicySet } from '../../src/policy/policy-set.ts'

/** Callers as a user names them. */
interface WrittenSubjects {
  readonly users?: readonly string[]
  readonly groups?: readonly string[]
  readonly keys?: readonly string[]
}

/** A rule as a user writes it. */
export interface WrittenRule {
  readonly id: string
  readonly effect: 'allow' | 'deny'
  readonly subjects: WrittenSubjects & {
    readonly any?: true
    readonly anonymous?: true
    readonly except?: WrittenSubjects
  }
  readonly operations: readonly string[]
  readonly tables?: readonly string[]
  readonly when?: string
}

/** A requirement of commits as a user writes it. */
export interface WrittenRequirement {
  readonly id: string
  readonly except?: WrittenSubjects
  readonly metadata?: readonly string[]
  readonly branches?: readonly string[]
  readonly notBranches?: readonly string[]
  readonly allowWholeTable?: readonly string[]
  readonly folders?: readonly string[]
  readonly freeze?: { readonly from?: string; readonly until?: string }
}

/** A policy as a user writes it, less what is the same in all of them. */
export interface WrittenPolicy {
  readonly name: string
  readonly mode?: 'enforce' | 'shadow'
  readonly namespace: readonly string[]
  readonly inherit?: boolean
  readonly final?: readonly string[]
  readonly onDeny?: 403 | 404
  readonly commits?: { readonly require: readonly WrittenRequirement[] }
  readonly rules: readonly WrittenRule[]
}

/** The YAML text of policies. */
export function formatPolicies(policies: readonly WrittenPolicy[]): string {
  return policies
    .map(({ name, ...rest }) =>
      JSON.stringify({ apiVersion: 'catalog-gateway/v1', kind: 'AccessPolicy', metadata: { name }, ...rest }),
    )
    .join('\n---\n')
}

/** The policies, parsed and compiled as if they stood in one file. */
export function compilePolicySet(
  policies: readonly WrittenPolicy[],
  conditionFailed?: ReportConditionFailure,
): PolicySet {
  const { documents, problems } = parsePolicies(formatPolicies(policies), 'policies.yaml')
  if (problems.length > 0) throw new Error(JSON.stringify(problems))
  return compilePolicies(documents, conditionFailed)
}

/** A caller with an API key. */
export function createCaller(name: string, ...groups: readonly string[]): Principal {
  return { name, method: 'api-key', groups: new Set(groups), credentialId: 'k1' }
}

/** What a request says besides who asks for what, where it matters. */
export interface RequestOverrides {
  readonly request?: Partial<RequestFacts>
  readonly operation?: Partial<OperationFacts>
}

/** A question to the policies. */
export function createAuthorizationRequest(
  principal: Principal,
  permission: Permission,
  kind: ObjectKind,
  id: readonly string[],
  { request, operation }: RequestOverrides = {},
): AuthorizationRequest {
  return {
    principal,
    permission,
    kind,
    id,
    request: {
      clientAddress: '192.0.2.7',
      now: new Date('2026-06-15T12:00:00Z'),
      context: new Map(),
      ...request,
    },
    operation: { ...noFacts, ...operation },
  }
}
