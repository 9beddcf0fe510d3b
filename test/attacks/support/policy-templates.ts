import type { WrittenCommits, WrittenPolicy, WrittenRule } from '../../policy/policy-builder.ts'

type Rule = Omit<WrittenRule, 'id'>

/** A rule that allows users operations, or denies them. */
export function ruleFor(
  users: readonly string[],
  operations: readonly string[] = ['all'],
  more: Partial<Rule> = {},
): Rule {
  return { effect: 'allow', subjects: { users }, operations, ...more }
}

/** A policy that denies with 403, whose name is that of its namespace. */
export function policyOf(
  namespace: readonly string[],
  rules: readonly Rule[],
  more: Partial<WrittenPolicy> = {},
): WrittenPolicy {
  return {
    name: namespace.join('-') || 'root',
    namespace,
    onDeny: 403,
    rules: rules.map((rule, index) => ({ id: `rule-${index}`, ...rule })),
    ...more,
  }
}

export function createAllowPolicy(namespace: string, when?: string): WrittenPolicy {
  return policyOf([namespace], [ruleFor(['ci'], ['all'], when === undefined ? {} : { when })])
}

export function createRequirePolicy(namespace: string, commits: WrittenCommits): WrittenPolicy {
  return { ...createAllowPolicy(namespace), commits }
}

/** Denies everyone changes under a condition, such as of branches other than those of `ci`. */
export function createChangePolicy(
  namespace: string,
  when = changesOtherBranches,
  except?: WrittenRule['subjects']['except'],
): WrittenPolicy {
  const subjects = { everyone: true, ...(except && { except }) } as const
  return policyOf([namespace], [ruleFor(['ci']), { effect: 'deny', subjects, operations: ['change'], when }])
}

/** As documented in policies/README.md: objects without a branch are exempt, and an unknown branch is denied. */
const changesOtherBranches = 'branch != "" && !branch.like("ci/*")'

/** Allows `ci` everything in the namespace except these operations, optionally under a condition. */
export function createDenyPolicy(
  namespace: string,
  operations: readonly string[],
  when?: string,
): WrittenPolicy {
  const deny = ruleFor(['ci'], operations, { effect: 'deny', ...(when && { when }) })
  return policyOf([namespace], [ruleFor(['ci']), deny])
}
