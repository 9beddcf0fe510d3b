import type { Identifier, Permission } from '../../catalog-api/index.ts'
import type { Condition } from '../conditions/condition.ts'
import type { WrittenRestriction } from '../restrictions/restriction.ts'
import type { DeclaredTags } from '../tags/object-tags.ts'
import type { Coverage } from './policy-vocabulary.ts'
import type { PolicyInstance } from './for-each.ts'
import type { Position } from './read-yaml.ts'

export const fileApiVersion = 'catalog-gateway/v1'

export const policyApiGroup = 'catalog-gateway.dev'

/** Of resources in Kubernetes; files accept it, too. */
export const resourceApiVersion = `${policyApiGroup}/v1`

export const policyKind = 'AccessPolicy'

export const policyResourceName = 'accesspolicies'

export interface NamedSubjects {
  /** Names of principals. A service account is given as the principal in its token. */
  readonly users: readonly string[]
  readonly groups: readonly string[]
  /** Ids of API keys. */
  readonly keys: readonly string[]
}

/** Callers of a rule: the named ones, or every authenticated caller, except for the exceptions. */
export interface Subjects extends NamedSubjects {
  readonly any: boolean
  /** Whether anonymous callers are included. Nothing else includes them. */
  readonly anonymous: boolean
  readonly except: NamedSubjects | undefined
}

/** A rule as written, at its position, with groups of operations expanded, and with the implied permissions of a deny. */
export interface PolicyRule extends Coverage, Position {
  readonly id: string
  readonly effect: 'allow' | 'deny'
  readonly subjects: Subjects
  /** Patterns of table names; undefined for the namespace itself and everything beneath it. */
  readonly tables: readonly string[] | undefined
  /** Includes the end of the rule. */
  readonly condition: Condition | undefined
  /** The condition as written, without the end of the rule. */
  readonly when?: string | undefined
  /** ISO 8601, UTC: an allow rule applies before this time. */
  readonly until?: string | undefined
  /** For callers that the rule denies, or does not allow because of its condition alone. */
  readonly message?: string | undefined
  /** The columns and rows that a restriction leaves. */
  readonly restriction?: WrittenRestriction
}

/** A policy, or that for one value of its `forEach`, at the position of its name. */
export interface PolicyDocument extends Position {
  /** Unique: that of the policy, and with `forEach` the value, as in `teams[crm]`. */
  readonly name: string
  /** The value of `forEach` that this document is for; undefined for a policy without. */
  readonly instance: PolicyInstance | undefined
  /** Whether the policy is only evaluated for comparison (`mode: shadow`). */
  readonly isShadow: boolean
  readonly namespace: Identifier
  /** False if allows of the namespaces above do not apply to this namespace. */
  readonly inherit: boolean
  /** Permissions that policies of namespaces beneath cannot allow. */
  readonly final: ReadonlySet<Permission>
  /** Status of denials here and beneath; 404 conceals that the object exists. Undefined to use that of the namespaces above. */
  readonly onDeny: 403 | 404 | undefined
  /** Whom to ask for access, in one line; undefined to name that of the namespaces above. */
  readonly contact: string | undefined
  /** Tags of the namespace and its tables; undefined if it declares none. */
  readonly tags: DeclaredTags | undefined
  /** Why findings of `policy lint` about the file are intended, by line and check: `12 until`. */
  readonly accepted: ReadonlyMap<string, string>
  /** Includes commit requirements and restrictions, as deny rules. */
  readonly rules: readonly PolicyRule[]
  /** Relative to the policy folder. */
  readonly file: string
}

export interface PolicyProblem {
  /** Relative to the policy folder. */
  readonly file: string
  /** From 1; undefined if the error concerns the whole file, for example if it cannot be read. */
  readonly line?: number
  readonly column?: number
  readonly message: string
}

/** Thrown if policies cannot be used, with all errors: the message has one line `file:line:column: error` for each. */
export class PolicyError extends Error {
  override readonly name = 'PolicyError'
  readonly problems: readonly PolicyProblem[]

  constructor(problems: readonly PolicyProblem[]) {
    super(problems.map(formatProblem).join('\n'))
    this.problems = problems
  }
}

/** `file:line:column: error`. */
export function formatProblem({ file, line, column, message }: PolicyProblem): string {
  return line === undefined ? `${file}: ${message}` : `${file}:${line}:${column ?? 1}: ${message}`
}
