import type { Permission } from '../../src/catalog-api/permissions.ts'
import type { ObjectKind } from '../../src/catalog-api/operations.ts'
import type { Principal } from '../../src/identity/principal.ts'
import { parsePolicies } from './parse-policies.ts'
import {
  noFacts,
  type OperationFacts,
  type AuthorizationRequest,
  type RequestFacts,
} from '../../src/policy/conditions/authorization-request.ts'
import type { ReportConditionFailure } from '../../src/policy/engine/compiled-rule.ts'
import type { PolicyDocument } from '../../src/policy/language/policy-document.ts'
import { compilePolicies, type PolicySet } from '../../src/policy/policy-set.ts'

interface WrittenSubjects {
  readonly users?: readonly string[]
  readonly groups?: readonly string[]
  readonly keys?: readonly string[]
}

export interface WrittenRule {
  readonly id: string
  readonly effect: 'allow' | 'deny'
  readonly subjects: WrittenSubjects & {
    readonly everyone?: true
    readonly any?: true
    readonly anonymous?: true
    readonly except?: WrittenSubjects
  }
  readonly operations: readonly string[]
  readonly tables?: readonly string[]
  readonly when?: string
  readonly until?: string
  readonly message?: string
}

export interface WrittenCommits {
  readonly folders?: readonly string[]
  readonly metadata?: readonly string[]
  readonly except?: WrittenSubjects
}

interface WrittenRestriction {
  readonly id: string
  readonly subjects: WrittenRule['subjects']
  readonly tables: readonly string[]
  readonly columns: Readonly<Record<string, string>> | { readonly without: readonly string[] }
  readonly rows?: string
}

export interface WrittenTags {
  readonly namespace?: readonly string[]
  readonly tables?: Readonly<
    Record<
      string,
      {
        readonly tags?: readonly string[]
        readonly columns?: Readonly<
          Record<string, string | { readonly type: string; readonly tags?: readonly string[] }>
        >
      }
    >
  >
}

/** A policy in the syntax of policy files, without the constant fields. */
export interface WrittenPolicy {
  readonly name: string
  readonly mode?: 'enforce' | 'shadow'
  readonly namespace: readonly string[]
  readonly inherit?: boolean
  readonly final?: readonly string[]
  readonly onDeny?: 403 | 404
  readonly contact?: string
  readonly commits?: WrittenCommits
  readonly tags?: WrittenTags
  readonly restrict?: readonly WrittenRestriction[]
  readonly rules: readonly WrittenRule[]
}

export function formatPolicies(policies: readonly WrittenPolicy[]): string {
  return policies
    .map(({ name, ...rest }) =>
      JSON.stringify({ apiVersion: 'catalog-gateway/v1', kind: 'AccessPolicy', metadata: { name }, ...rest }),
    )
    .join('\n---\n')
}

/** Parses and compiles policies as if they were in one file. */
export function compilePolicySet(
  policies: readonly WrittenPolicy[],
  conditionFailed?: ReportConditionFailure,
): PolicySet {
  return compilePolicies(parseDocuments(policies), conditionFailed)
}

export function parseDocuments(policies: readonly WrittenPolicy[]): readonly PolicyDocument[] {
  const { documents, problems } = parsePolicies(formatPolicies(policies), 'policies.yaml')
  if (problems.length > 0) throw new Error(JSON.stringify(problems))
  return documents
}

export function createCaller(name: string, ...groups: readonly string[]): Principal {
  return { name, method: 'api-key', groups: new Set(groups), credentialId: 'k1' }
}

export interface RequestOverrides {
  readonly request?: Partial<RequestFacts>
  readonly operation?: Partial<OperationFacts>
}

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
