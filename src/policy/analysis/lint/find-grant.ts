import type { Permission } from '../../../catalog-api/permissions.ts'
import { destinationPermission } from '../../../catalog-api/requirements.ts'
import type { OperationFacts } from '../../conditions/authorization-request.ts'
import type { Condition } from '../../conditions/condition.ts'
import { MissingFactError, unknown } from '../../conditions/fact.ts'
import { constantFacts } from '../../conditions/permission-facts.ts'
import type { LocatedRule } from '../../engine/compiled-rule.ts'
import type { ObjectPosition } from '../../engine/object-position.ts'
import { knownAsOnly, type Subject } from '../../engine/subject.ts'
import type { PolicySet } from '../../policy-set.ts'
import { listNameClasses } from '../name-classes.ts'

/** Callers, namespaces and tables tried per rule; bounds the time of lint. */
export const maxCandidates = 20

/** Whether a condition is assumed to be true at a position. */
export type Holds = (condition: Condition, position: ObjectPosition) => boolean

/** Result that is equal in every request. `unknown`: it depends on an unknown fact. */
export type ConstantResult = 'true' | 'false' | 'failed' | 'unknown'

/** Returns the result of the condition with these facts; undefined if it depends on more of the request. */
export function constantResult(
  condition: Condition,
  permission: Permission,
  operation: OperationFacts = constantFacts(permission),
): ConstantResult | undefined {
  try {
    return condition.evaluate({ operation, permission }) ? 'true' : 'false'
  } catch (error) {
    if (!(error instanceof MissingFactError)) return 'failed'
    return error.isPending ? undefined : 'unknown'
  }
}

/** Facts of requests that change a whole table. */
function wholeTableFacts(permission: Permission): OperationFacts {
  const facts = constantFacts(permission)
  // An overwrite may also replace the rows of one branch only.
  if (permission === 'OverwriteTable') return { ...facts, branch: unknown }
  // A new table has the branch main, unless a rename creates it with all branches.
  return permission === destinationPermission ? { ...facts, branch: 'main' } : facts
}

/**
 * Returns a rule by which a caller that is the subject and nothing else may change a whole table: the conditions of allows
 * are assumed to be true, and those of denies to be false, unless they are on the branch or `holds` says that they are true.
 */
export function findGrant(
  set: PolicySet,
  permission: Permission,
  position: ObjectPosition,
  subject: Subject,
  holds: Holds = () => false,
): LocatedRule | undefined {
  const operation = wholeTableFacts(permission)
  const get = (condition: Condition) => {
    if (holds(condition, position)) return 'true'
    const isOnBranch = condition.facts.includes('branch')
    return isOnBranch && constantResult(condition, permission, operation) === undefined ? 'failed' : undefined
  }
  const caller = knownAsOnly(subject)
  const question = { permission, position, caller, input: { operation }, conditions: { get } }
  const { kind, by } = set.evaluate(question)
  return kind === 'denied' ? undefined : by
}

/** Whether it is the requirement on the folders of commits. */
export function isOnFolders({ requirement }: Condition): boolean {
  return requirement !== undefined && 'folders' in requirement
}

/** Positions that represent the tables of a namespace, and those that no policy names. */
export function listPositions(
  set: PolicySet,
  namespace: ObjectPosition['namespace'],
): readonly ObjectPosition[] {
  const names = listNameClasses([set], namespace).slice(0, maxCandidates)
  return [undefined, ...names].map((table) => ({ namespace, table }))
}
